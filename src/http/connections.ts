/**
 * Which connections have a request under way, so that a stop closes the others at once. Node's own list of idle ones
 * leaves out connections that never carried a request, and browsers open such ones in advance.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface Connections {
  /** Closes what is idle now, and the others as soon as their response is out. */
  drain(): void
}

export function trackConnections(server: Server): Connections {
  const open = new Set<Socket>()
  const busy = new Map<Socket, number>()
  let draining = false

  server.on('connection', (socket: Socket) => {
    // The server listens a moment longer than the stop takes to begin.
    if (draining) {
      socket.destroy()
      return
    }
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      busy.delete(socket)
    })
  })
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    busy.set(socket, (busy.get(socket) ?? 0) + 1)
    response.once('close', () => {
      const left = (busy.get(socket) ?? 1) - 1
      if (left > 0) busy.set(socket, left)
      else busy.delete(socket)
      if (draining && left === 0) socket.destroySoon()
    })
  })

  return {
    drain() {
      draining = true
      for (const socket of open) if (!busy.has(socket)) socket.destroy()
    },
  }
}
