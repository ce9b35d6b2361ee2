package volume

// Metadata of volumes and snapshots.

import (
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// metadataOf says whose metadata it is.
type metadataOf struct{ plural, what string }

var (
	volumeMetadata   = metadataOf{"volumes", "Volume"}
	snapshotMetadata = metadataOf{"snapshots", "Snapshot"}
)

const mostKeys = 128

func checkMetadata(all map[string]string) error {
	if len(all) > mostKeys {
		return service.Fail(http.StatusBadRequest, "Invalid metadata: more than %d keys.", mostKeys)
	}
	for key, value := range all {
		if key == "" || len(key) > longestName || len(value) > longestName {
			return service.Fail(http.StatusBadRequest, "Invalid metadata: keys have 1 to %d characters, values at most as many.", longestName)
		}
	}
	return nil
}

func (s *Service) readMetadata(r *http.Request, caller *service.Caller, q querier, m metadataOf, lock string) (map[string]string, error) {
	if m == snapshotMetadata {
		one, err := findSnapshot(r.Context(), q, caller, r.PathValue("id"), lock)
		if err != nil {
			return nil, err
		}
		return one.Metadata, nil
	}
	v, err := findVolume(r.Context(), q, caller, r.PathValue("id"), lock)
	if err != nil {
		return nil, err
	}
	return v.Metadata, nil
}

func (s *Service) editMetadata(r *http.Request, caller *service.Caller, m metadataOf, edit func(all map[string]string) (map[string]string, error)) (map[string]string, error) {
	if err := writing(r, caller, "volume:update_metadata"); err != nil {
		return nil, err
	}
	var all map[string]string
	err := s.write(r.Context(), func(tx pgx.Tx) error {
		has, err := s.readMetadata(r, caller, tx, m, held)
		if err != nil {
			return err
		}
		if all, err = edit(has); err != nil {
			return err
		}
		if err := checkMetadata(all); err != nil {
			return err
		}
		_, err = tx.Exec(r.Context(), fmt.Sprintf(`UPDATE volume.%s SET metadata = $2, updated_at = now() WHERE id::text = $1`, m.plural), r.PathValue("id"), all)
		return err
	})
	return all, err
}

func (s *Service) showMetadata(m metadataOf) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		all, err := s.readMetadata(r, caller, s.Pool, m, "")
		if err != nil {
			return err
		}
		return service.JSON(w, http.StatusOK, map[string]any{"metadata": all})
	}
}

func (s *Service) setMetadata(m metadataOf, replace bool) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		var body struct {
			Metadata map[string]string `json:"metadata"`
		}
		if err := service.Decode(r, &body); err != nil {
			return err
		}
		if body.Metadata == nil {
			return service.Fail(http.StatusBadRequest, "Missing required element 'metadata' in request body.")
		}
		all, err := s.editMetadata(r, caller, m, func(all map[string]string) (map[string]string, error) {
			if replace {
				return body.Metadata, nil
			}
			for key, value := range body.Metadata {
				all[key] = value
			}
			return all, nil
		})
		if err != nil {
			return err
		}
		return service.JSON(w, http.StatusOK, map[string]any{"metadata": all})
	}
}

func (s *Service) keyMissing(m metadataOf, r *http.Request) error {
	return service.Fail(http.StatusNotFound, "%s %s has no metadata with key %s.", m.what, r.PathValue("id"), bounded(r.PathValue("key")))
}

func (s *Service) showMetadataKey(m metadataOf) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		all, err := s.readMetadata(r, caller, s.Pool, m, "")
		if err != nil {
			return err
		}
		value, ok := all[r.PathValue("key")]
		if !ok {
			return s.keyMissing(m, r)
		}
		return service.JSON(w, http.StatusOK, map[string]any{"meta": map[string]any{r.PathValue("key"): value}})
	}
}

func (s *Service) setMetadataKey(m metadataOf) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		var body struct {
			Meta map[string]string `json:"meta"`
		}
		if err := service.Decode(r, &body); err != nil {
			return err
		}
		value, ok := body.Meta[r.PathValue("key")]
		if !ok || len(body.Meta) != 1 {
			return service.Fail(http.StatusBadRequest, "Request body and URI mismatch")
		}
		_, err := s.editMetadata(r, caller, m, func(all map[string]string) (map[string]string, error) {
			all[r.PathValue("key")] = value
			return all, nil
		})
		if err != nil {
			return err
		}
		return service.JSON(w, http.StatusOK, map[string]any{"meta": body.Meta})
	}
}

func (s *Service) dropMetadataKey(m metadataOf) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		_, err := s.editMetadata(r, caller, m, func(all map[string]string) (map[string]string, error) {
			if _, ok := all[r.PathValue("key")]; !ok {
				return nil, s.keyMissing(m, r)
			}
			delete(all, r.PathValue("key"))
			return all, nil
		})
		if err != nil {
			return err
		}
		w.WriteHeader(http.StatusOK)
		return nil
	}
}
