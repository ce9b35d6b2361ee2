// Package simulated is a libvirt.Driver without a hypervisor: its guests are
// files in the host's state folder, so they outlive kill -9 of the worker as
// real guests do. It serves development, scale tests and fault injection; a
// hundred of these hosts fit in one process.
//
// A guest is the folder guests/<server id>: guest.json is the domain, disk.* are
// its disks on the host, console.log is what it has said. Every act is a sub-step
// of its own:
//
//	build    build.image  build.disk  build.define  build.start  build.done
//	destroy  destroy.stop  destroy.disk  destroy.undefine  destroy.done
//	rescue   rescue.image  rescue.disk  rescue.start  rescue.done
//	prepare  prepare.image  prepare.done
//	cache    cache.image  cache.done
//	rebuild  rebuild.begin  rebuild.disk  rebuild.start  rebuild.done
//	receive  receive.folder  receive.disks  receive.done
//	resize   resize.aside  resize.disk  resize.define  resize.start  resize.done
//	power    power.start  power.stop ... (one per action)  power.done
//	land     land.cpu  land.folder  land.disk  land.done
//	migrate  depart  migrate.begin  migrate.copying  migrate.move  migrate.done  landed
//	devices  plug.device  plug.done  unplug.device  unplug.done
//	swap     swap.copy  swap.pivot  swap.done  unswap.copy  unswap.pivot  unswap.done
//
// What goes wrong is told by two lists, "name=value" with commas between:
//
//	fail    build.start=unavailable:2   a fault of that kind, twice per guest;
//	                                    without a number, every time
//	delay   build.image=1500ms          a wait before the sub-step; "hang"
//	                                    waits until the step is cancelled
//
// They come from Options, from the file simulated.json in the state folder
// ({"fail": "...", "delay": "..."}, read at each sub-step), and from the extra
// specs "simulated:fail" and "simulated:delay" of the server's flavor; the last
// that names a sub-step counts.
package simulated
