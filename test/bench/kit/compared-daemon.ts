/**
 * A daemon of any checkout, as `npm start` runs it, with a local Telegram and the OpenAI API. It is measured from outside only, so
 * that commits without the present kit can be compared.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { z } from 'zod'
import { startCommand } from './checkout.ts'
import { killProcess, waitForLine } from './children.ts'
import { withHome } from './home.ts'
import { cpuMsOf, rssMbOf } from './proc.ts'
import { type BenchVendor, platformsSection, withVendor } from './vendor.ts'

/** The texts of lines of the log: version 0.1.0 names no events. */
const readyLine = /"msg":"ready"/
const connectedLine = /"platform":"telegram".*"msg":"platform connected"/

export interface ComparedDaemon {
  /** The users of its Telegram. */
  readonly telegram: BenchVendor
  /** ms of processor time so far. */
  cpuMs(): number
  /** Resident memory, MB. */
  rssMb(): number
  /** A request to `/v1/chat/completions`. Rejects unless the answer has a text. */
  ask(text: string, sessionId?: string): Promise<void>
}

export interface DaemonStart {
  readonly readyMs: number
  readonly readyCpuMs: number
}

/** Starts the daemon twice, so that its compile cache is warm, and runs `work` with the second one. */
export function withComparedDaemon<T>(
  checkout: string,
  modelUrl: string,
  work: (daemon: ComparedDaemon) => Promise<T>,
): Promise<T> {
  return withVendor('telegram', async (telegram) => {
    const port = await freePort()
    const platforms = {
      telegram: { enabled: true, allow_from: ['*'], ...telegram.options },
      api_server: { enabled: true },
    }
    const config = `model: bench
provider: openai
base_url: ${modelUrl}
api_key: none
http: { port: ${port} }
streaming: { enabled: false }
${platformsSection(platforms)}`
    return await withHome(config, async (home) => {
      await measureStart(checkout, home)
      const child = spawnDaemon(checkout, home)
      try {
        const connected = waitForLine(child.stderr, connectedLine)
        await waitForLine(child.stderr, readyLine)
        await connected
        child.stderr?.resume()
        const pid = child.pid ?? 0
        return await work({
          telegram,
          cpuMs: () => cpuMsOf(pid),
          rssMb: () => rssMbOf(pid),
          ask: createAsk(`http://127.0.0.1:${port}`, readFileSync(join(home, 'gateway.token'), 'utf8').trim()),
        })
      } finally {
        await killProcess(child)
      }
    })
  })
}

/** From the start of the process to ready, without a platform but the page. */
export function withStarts<T>(checkout: string, work: (start: () => Promise<DaemonStart>) => Promise<T>): Promise<T> {
  return withHome('http: { port: 0 }\n', (home) => work(() => measureStart(checkout, home)))
}

async function measureStart(checkout: string, home: string): Promise<DaemonStart> {
  const begun = performance.now()
  const child = spawnDaemon(checkout, home)
  try {
    await waitForLine(child.stderr, readyLine)
    const measured = { readyMs: performance.now() - begun, readyCpuMs: cpuMsOf(child.pid ?? 0) }
    child.stderr?.resume()
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await exited
    return measured
  } finally {
    await killProcess(child)
  }
}

function spawnDaemon(checkout: string, home: string): ChildProcess {
  const path = `${join(checkout, 'node_modules', '.bin')}:${process.env['PATH'] ?? ''}`
  return spawn('sh', ['-c', startCommand(checkout)], {
    cwd: checkout,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: path, HOME: home, HERMES_HOME: home },
  })
}

const answerSchema = z.object({ choices: z.tuple([z.object({ message: z.object({ content: z.string().min(1) }) })]) })

function createAsk(url: string, token: string): ComparedDaemon['ask'] {
  return async (text, sessionId) => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...(sessionId !== undefined && { 'x-hermes-session-id': sessionId }),
      },
      body: JSON.stringify({ messages: [{ role: 'user', content: text }] }),
    })
    if (!response.ok) throw new Error(`the API answered ${response.status}: ${await response.text()}`)
    answerSchema.parse(await response.json())
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = z.object({ port: z.number() }).parse(server.address())
  server.close()
  await once(server, 'close')
  return address.port
}
