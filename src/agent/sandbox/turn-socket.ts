/**
 * The socket through which a command in the sandbox speaks to the gateway. A connection carries one request and one answer,
 * both JSON: `{token, args}` and `{output, errors, exitCode}`.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { z } from 'zod'
import type { Logger } from '../../lib/log.ts'

export interface CommandOutput {
  readonly output: string
  readonly errors: string
  readonly exitCode: number
}

const maxRequestBytes = 16_384
const maxOutputChars = 64_000
/** Further ones are closed. */
const maxConnections = 16

const requestShape = z.object({ token: z.string().max(200), args: z.array(z.string()).max(64) })

/**
 * @param run runs the command of a request; its rejections are logged, and the caller gets an error
 * @param timeoutMs time for one request with its answer
 */
export function createTurnSocket(
  run: (token: string, args: readonly string[], signal: AbortSignal) => Promise<CommandOutput>,
  log: Logger,
  timeoutMs = 10_000,
): Server {
  const answer = async (text: string, signal: AbortSignal): Promise<CommandOutput> => {
    const request = parseRequest(text)
    if (request === undefined) return failure('the request is malformed')
    try {
      return await run(request.token, request.args, signal)
    } catch (error) {
      if (signal.aborted) return failure('the gateway did not answer in time')
      log.error({ event: 'agent_command.failed', err: error }, 'a hermes command of the agent failed')
      return failure('the gateway could not run this command; its log says why')
    }
  }

  const serve = async (socket: Socket) => {
    const timeout = new AbortController()
    const timer = setTimeout(() => timeout.abort(), timeoutMs)
    socket.once('close', () => timeout.abort())
    timeout.signal.addEventListener('abort', () => socket.destroySoon())
    // A caller that has gone away needs no answer.
    socket.on('error', () => socket.destroy())
    try {
      const text = await readAll(socket)
      const result = text === undefined ? failure('the command line is too long') : await answer(text, timeout.signal)
      if (!socket.destroyed) socket.end(JSON.stringify(bounded(result)))
    } finally {
      clearTimeout(timer)
    }
  }

  const server = createServer({ allowHalfOpen: true }, (socket) => {
    serve(socket).catch((error: unknown) => {
      log.debug({ event: 'agent_command.connection_lost', err: error }, 'a hermes command of the agent ended early')
    })
  })
  server.maxConnections = maxConnections
  server.on('error', (error) => {
    log.error({ event: 'agent_command.socket_failed', err: error }, 'the socket for hermes in the sandbox failed')
  })
  return server
}

/** Undefined for a request above the limit. Rejects when the connection is lost. */
async function readAll(socket: Socket): Promise<string | undefined> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of socket.iterator({ destroyOnReturn: false })) {
    bytes += piece.length
    if (bytes > maxRequestBytes) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

function parseRequest(text: string): z.output<typeof requestShape> | undefined {
  try {
    return requestShape.parse(JSON.parse(text))
  } catch {
    // The caller is told.
    return undefined
  }
}

const failure = (reason: string): CommandOutput => ({ output: '', errors: `hermes: ${reason}\n`, exitCode: 1 })

function bounded({ output, errors, exitCode }: CommandOutput): CommandOutput {
  const cut = (text: string) =>
    text.length <= maxOutputChars ? text : `${text.slice(0, maxOutputChars).toWellFormed()}\n[cut]\n`
  return { output: cut(output), errors: cut(errors), exitCode }
}
