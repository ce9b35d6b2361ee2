package domain

// What the domain says of the server it is: read by people with virsh and by
// tools that know Nova's element.

import (
	"encoding/xml"

	"libvirt.org/go/libvirtxml"
)

// instance is Nova's element, with what is known here.
type instance struct {
	XMLName xml.Name `xml:"nova:instance"`
	NS      string   `xml:"xmlns:nova,attr"`
	Name    string   `xml:"nova:name"`
	Flavor  flavor   `xml:"nova:flavor"`
	Owner   owner    `xml:"nova:owner"`
	Root    *root    `xml:"nova:root,omitempty"`
	Ports   []port   `xml:"nova:ports>nova:port,omitempty"`
}

type flavor struct {
	Name      string `xml:"name,attr"`
	Memory    int    `xml:"nova:memory"`
	Disk      int    `xml:"nova:disk"`
	Swap      int    `xml:"nova:swap"`
	Ephemeral int    `xml:"nova:ephemeral"`
	VCPUs     int    `xml:"nova:vcpus"`
}

type owner struct {
	User    named `xml:"nova:user"`
	Project named `xml:"nova:project"`
}

type named struct {
	UUID string `xml:"uuid,attr"`
}

type root struct {
	Type string `xml:"type,attr"`
	UUID string `xml:"uuid,attr"`
}

type port struct {
	UUID string `xml:"uuid,attr"`
}

// server is Holdfast's own element.
type server struct {
	XMLName    xml.Name `xml:"holdfast:server"`
	NS         string   `xml:"xmlns:holdfast,attr"`
	ID         string   `xml:"id,attr"`
	Generation int64    `xml:"generation,attr"`
}

func metadata(p *Plan, _ Properties, d *libvirtxml.Domain) error {
	s := p.Spec
	nova := instance{
		NS: "http://openstack.org/xmlns/libvirt/nova/1.1", Name: s.Name,
		Flavor: flavor{Name: s.Flavor, Memory: s.MemoryMB, Disk: s.RootGB, Swap: s.SwapMB, Ephemeral: s.EphemeralGB, VCPUs: s.VCPUs},
		Owner:  owner{User: named{s.UserID}, Project: named{s.ProjectID}},
	}
	if s.ImageID != "" {
		nova.Root = &root{Type: "image", UUID: s.ImageID}
	}
	for _, p := range s.Ports {
		nova.Ports = append(nova.Ports, port{UUID: p.ID})
	}
	ours := server{NS: "https://holdfast.dev/xmlns/libvirt/1", ID: s.ServerID, Generation: s.Generation}
	text, err := marshalAll(nova, ours)
	d.Metadata = &libvirtxml.DomainMetadata{XML: text}
	return err
}

func marshalAll(elements ...any) (string, error) {
	text := ""
	for _, element := range elements {
		data, err := xml.MarshalIndent(element, "    ", "  ")
		if err != nil {
			return "", err
		}
		text += "\n" + string(data)
	}
	return text + "\n  ", nil
}
