package orchestration

// GET /services.

import (
	"net/http"
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/store/orchestration"
)

// engineView is a control worker as clients know it.
type engineView struct {
	ID       string  `json:"id"`
	Binary   string  `json:"binary"`
	EngineID string  `json:"engine_id"`
	Host     string  `json:"host"`
	Hostname string  `json:"hostname"`
	Topic    string  `json:"topic"`
	Interval int     `json:"report_interval"`
	Created  string  `json:"created_at"`
	Updated  *string `json:"updated_at"`
	Deleted  *string `json:"deleted_at"`
	Status   string  `json:"status"`
}

// moment is a time as the original's objects have it.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000") }

// listServices shows the control workers; one is up if it was heard of within two of its
// intervals.
func (a *API) listServices(r *rest.Request) (*rest.Response, error) {
	engines, err := orchestration.Engines(r.Context(), a.DB.Pool)
	if err != nil {
		return nil, err
	}
	if len(engines) == 0 {
		return nil, rest.NewFault(http.StatusServiceUnavailable, "All heat engines are down.")
	}
	views := make([]engineView, len(engines))
	for i, e := range engines {
		seen, status := moment(e.LastSeen), "down"
		if time.Duration(e.SeenAgo*float64(time.Second)) <= 2*a.ReportInterval {
			status = "up"
		}
		views[i] = engineView{ID: e.ID, Binary: "heat-engine", EngineID: e.ID, Host: e.Host, Hostname: e.Host, Topic: "engine",
			Interval: int(a.ReportInterval.Seconds()), Created: moment(e.CreatedAt), Updated: &seen, Status: status}
	}
	return rest.JSON(map[string]any{"services": views}), nil
}
