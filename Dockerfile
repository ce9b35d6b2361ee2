# Holdfast's one binary, for every role. See docker-compose.yml.

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /holdfast .

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates curl qemu-utils && rm -rf /var/lib/apt/lists/*
COPY --from=build /holdfast /usr/local/bin/holdfast
ENTRYPOINT ["holdfast"]
