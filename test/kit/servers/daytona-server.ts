/**
 * A server that speaks the part of Daytona's REST API that the plugin uses. Its sandboxes are shells of this machine.
 */
import { spawn } from 'node:child_process'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { isRecord } from '../../../src/lib/json.ts'

export interface DaytonaServer extends AsyncDisposable {
  readonly url: string
  /** The states of the sandboxes by name. */
  readonly sandboxes: Map<string, { id: string; state: string; body: Readonly<Record<string, unknown>> }>
  /** `POST /sandbox`, `POST /process/execute` and so on, in their order. */
  readonly calls: string[]
  /** How many answers to commands are lost from now on. */
  loseAnswers(count: number): void
}

export async function startDaytonaServer(key: string): Promise<DaytonaServer> {
  const sandboxes: DaytonaServer['sandboxes'] = new Map()
  const calls: string[] = []
  let lost = 0
  let url = ''

  const stateOf = (name: string) => {
    const found = sandboxes.get(name)
    return found && { id: found.id, name, state: found.state, toolboxProxyUrl: `${url}/toolbox` }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').replace(/^\/api/, '')
    const body: unknown = request.method === 'POST' ? JSON.parse((await text(request)) || '{}') : {}
    const send = (status: number, value: unknown) =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    const fields = isRecord(body) ? body : {}
    calls.push(`${request.method} ${path.replace(/^\/toolbox\/[^/]+/, '')}`)
    if (request.headers.authorization !== `Bearer ${key}`) return send(401, { message: 'Invalid credentials' })
    const execute = /^\/toolbox\/([^/]+)\/process\/execute$/.exec(path)
    if (execute !== null) {
      const found = [...sandboxes.values()].find(({ id }) => id === execute[1])
      if (found?.state !== 'started') return send(400, { message: 'the sandbox is not running' })
      const result = await run(String(fields['command']))
      if (lost-- > 0) return void request.socket.destroy()
      return send(200, result)
    }
    if (path === '/sandbox' && request.method === 'POST') {
      const name = String(fields['name'])
      sandboxes.set(name, { id: `id-${sandboxes.size + 1}`, state: 'started', body: fields })
      return send(200, { ...stateOf(name), state: 'creating' })
    }
    send(...change(path, request.method))
  }

  /** Starts, stops, deletes or shows a sandbox. */
  function change(path: string, method: string | undefined): [number, unknown] {
    const [, name = '', action = ''] = /^\/sandbox\/([^/]+)\/?(\w*)$/.exec(path) ?? []
    const found = sandboxes.get(name)
    if (found === undefined) return [404, { message: 'Sandbox not found' }]
    if (method === 'DELETE') sandboxes.delete(name)
    if (action === 'start') found.state = 'started'
    if (action === 'stop') found.state = 'stopped'
    return [200, stateOf(name) ?? {}]
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not a TCP server')
  url = `http://127.0.0.1:${address.port}`
  return {
    url: `${url}/api`,
    sandboxes,
    calls,
    loseAnswers(count) {
      lost = count
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/**
 * Runs a command like Daytona's program does: words and quotes, no shell and no escapes; stdout and stderr together,
 * until both are closed.
 */
function run(command: string): Promise<{ exitCode: number; result: string }> {
  const words = [...command.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, single?: string, double?: string) => single ?? double ?? ''),
  )
  const [program = 'false', ...args] = words
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let result = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      result += chunk
    })
  }
  return new Promise((resolve) => {
    child.once('error', () => resolve({ exitCode: -1, result }))
    child.once('close', (exitCode) => resolve({ exitCode: exitCode ?? -1, result }))
  })
}
