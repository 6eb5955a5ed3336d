/**
 * Tracks which connections have an active request, so that a stop closes the others immediately. Node's own list of idle
 * connections omits those without any request, which browsers open in advance.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export type Connections = ReturnType<typeof trackConnections>

export function trackConnections(server: Server) {
  const open = new Set<Socket>()
  const busy = new Map<Socket, number>()
  let draining = false

  server.on('connection', (socket: Socket) => {
    // The server still accepts connections for a moment after the stop began.
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
    /** Closes idle connections now, and the others after their response. */
    drain() {
      draining = true
      for (const socket of open) if (!busy.has(socket)) socket.destroy()
    },
  }
}
