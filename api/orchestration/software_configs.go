package orchestration

// Software configs: what servers are set up by.

import (
	"github.com/google/uuid"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// configItem is a config in a list. Its project is shown to administrators.
type configItem struct {
	ID      string  `json:"id"`
	Name    *string `json:"name"`
	Group   *string `json:"group"`
	Created string  `json:"creation_time"`
	Project string  `json:"project,omitempty"`
}

// configView is a config alone.
type configView struct {
	configItem
	Config  any   `json:"config"`
	Inputs  []any `json:"inputs"`
	Outputs []any `json:"outputs"`
	Options any   `json:"options"`
}

func configItemOf(c *orchestration.Config) configItem {
	return configItem{ID: c.ID, Name: c.Name, Group: c.Group, Created: stamp(c.CreatedAt)}
}

func configAnswer(row *orchestration.Config, c *stacks.Config) *rest.Response {
	return rest.JSON(map[string]any{"software_config": configView{configItemOf(row), c.Config, orEmpty(c.Inputs), orEmpty(c.Outputs), c.Options}})
}

// projectOf is whose things a request is about; administrators see everybody's.
func projectOf(r *rest.Request) string {
	if r.Identity.IsAdmin {
		return ""
	}
	return r.Identity.ProjectID
}

func (a *API) listConfigs(r *rest.Request) (*rest.Response, error) {
	project := projectOf(r)
	global, err := flag(r, "global_tenant", false)
	if err != nil {
		return nil, err
	}
	if global {
		if err := r.Enforce("software_configs:global_index", nil); err != nil {
			return nil, err
		}
		project = ""
	}
	limit, err := number(r, "limit")
	if err != nil {
		return nil, err
	}
	if limit == 0 || limit > a.MaxPageSize {
		limit = a.MaxPageSize
	}
	rows, err := orchestration.ListConfigs(r.Context(), a.DB.Pool, project, r.Query.Get("marker"), limit)
	if err != nil {
		return nil, err
	}
	items := []configItem{}
	for _, row := range rows {
		item := configItemOf(row)
		if r.Identity.IsAdmin || global {
			item.Project = row.ProjectID
		}
		items = append(items, item)
	}
	return rest.JSON(map[string]any{"software_configs": items}), nil
}

func (a *API) createConfig(r *rest.Request) (*rest.Response, error) {
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	of := func(name string) any { v, _ := body.Get(name); return v }
	config, err := stacks.NewConfig(of("config"), of("inputs"), of("outputs"), of("options"), a.Types)
	if err != nil {
		return nil, err
	}
	row := &orchestration.Config{ID: uuid.NewString(), ProjectID: r.Identity.ProjectID}
	for key, into := range map[string]**string{"name": &row.Name, "group": &row.Group} {
		if v := of(key); v != nil {
			text := value.Str(v)
			if len([]rune(text)) > maxShown {
				return nil, invalid("%s is longer than %d characters", key, maxShown)
			}
			*into = &text
		}
	}
	if err := config.Seal(row, a.Secrets); err != nil {
		return nil, err
	}
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		if a.MaxConfigs >= 0 && !r.Identity.IsAdmin {
			n, err := orchestration.CountConfigs(r.Context(), tx, row.ProjectID)
			if err == nil && n >= a.MaxConfigs {
				err = limit("You have reached the maximum software configs per tenant, %d. Please delete some configs.", a.MaxConfigs)
			}
			if err != nil {
				return err
			}
		}
		return orchestration.InsertConfig(r.Context(), tx, row)
	})
	if err != nil {
		return nil, err
	}
	return configAnswer(row, config), nil
}

func (a *API) showConfig(r *rest.Request) (*rest.Response, error) {
	row, err := orchestration.GetConfig(r.Context(), a.DB.Pool, projectOf(r), r.Param("config_id"))
	if err != nil {
		return nil, err
	}
	config, err := stacks.OpenConfig(row, a.Secrets)
	if err != nil {
		return nil, err
	}
	return configAnswer(row, config), nil
}

func (a *API) deleteConfig(r *rest.Request) (*rest.Response, error) {
	return nil, orchestration.DeleteConfig(r.Context(), a.DB.Pool, projectOf(r), r.Param("config_id"))
}
