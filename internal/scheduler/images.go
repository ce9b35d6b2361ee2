package scheduler

// What a server's image has in common with those of a host's servers.

import "strings"

// CountsImages says that the images of hosts' servers count: a multiplier says so,
// its own or one of these aggregates'.
func (s *Scheduler) CountsImages(aggregates map[string][]map[string]string) bool {
	for _, w := range s.Weighers {
		if w.Key == imageKey && w.Multiplier != 0 {
			return true
		}
	}
	for _, of := range aggregates {
		for _, metadata := range of {
			if metadata[imageKey] != "" {
				return true
			}
		}
	}
	return false
}

// commonImage weighs each property that the request's image has with the same value
// as the image of a server on the host, by how many of those there are and by ratios;
// without any all count the same.
func commonImage(ratios map[string]float64) func(*Request) func(*Host) float64 {
	return func(r *Request) func(*Host) float64 {
		wanted := map[string]string{}
		for name, value := range r.Image {
			if _, named := ratios[name]; named || len(ratios) == 0 && describesGuest(name) {
				wanted[name] = value
			}
		}
		if len(wanted) == 0 {
			return nil
		}
		common := map[*Image]float64{}
		return func(h *Host) (weight float64) {
			for image, servers := range h.Images {
				each, known := common[image]
				if !known {
					for name, value := range wanted {
						if have, ok := image.Properties[name]; ok && have == value {
							each += ratio(ratios, name)
						}
					}
					common[image] = each
				}
				weight += each * float64(servers)
			}
			return weight
		}
	}
}

func ratio(ratios map[string]float64, name string) float64 {
	if len(ratios) == 0 {
		return 1
	}
	return ratios[name]
}

// describesGuest tells the properties that say something of guests from what else is
// kept with an image (contracts: image-properties.json).
func describesGuest(name string) bool {
	return strings.HasPrefix(name, "hw_") || strings.HasPrefix(name, "img_") || strings.HasPrefix(name, "os_")
}
