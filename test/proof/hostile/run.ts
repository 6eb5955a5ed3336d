/**
 * Sends all hostile inputs to a gateway as `npm start` runs it, while a separate process asks it for `/healthz`.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findRunningDaemon } from '../../../src/cli/kit/daemon.ts'
import { createHomeLayout } from '../../../src/lib/home.ts'
import type { ModelReply } from '../../kit/servers/model-script.ts'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'
import { type GatewayProcess, startDaemonProcess } from '../gateway-process.ts'
import type { TestPlatform } from '../platforms/test-platform.ts'
import { testPlatforms } from '../platforms/test-platforms.ts'
import { type HostileInput, hostileInputs } from './inputs.ts'
import type { ProbeResult } from './prober.ts'

export interface HostileResult extends ProbeResult {
  readonly name: string
}

export interface HostileReport {
  /** The gateway while nothing happens. */
  readonly idle: ProbeResult
  readonly results: readonly HostileResult[]
  /** Why the gateway ended before all inputs were sent. */
  readonly ended: string | undefined
}

/** Processor time that an input may hold the event loop, ms. Twice as much on a machine with other work. */
export const maxHoldMs = 50

/** The gateway kept answering. */
export function keepsAnswering({ results, ended }: HostileReport): boolean {
  return ended === undefined && results.every(({ cpuMs }) => cpuMs <= 2 * maxHoldMs)
}

export interface HostileOptions {
  /** Only inputs whose name contains this text. */
  readonly only?: string
  progress(line: string): void
}

/** Some answers are slow, because a search ends after 30 s. */
const apiTimeoutMs = 60_000

export async function runHostileInputs({ only = '', progress }: HostileOptions): Promise<HostileReport> {
  const home = await mkdtemp(join(tmpdir(), 'hermes-hostile-'))
  const workspace = join(home, 'work')
  await mkdir(workspace, { mode: 0o700 })
  let replies: ModelReply[] = []
  const model = await startOpenAiServer({ record: false, defaultReply: () => replies.shift() ?? { text: 'done' } })
  const platforms = await Promise.all(testPlatforms.map((start) => start()))
  let daemon: GatewayProcess | undefined
  let prober: ChildProcess | undefined
  const results: HostileResult[] = []
  try {
    const config = configOf(model.baseUrl, workspace, platforms)
    await writeFile(join(home, 'config.yaml'), config, { mode: 0o600 })
    daemon = startDaemonProcess(home)
    let ended: string | undefined
    void daemon.ended.then((code) => {
      ended = `the gateway ended with ${code}: ${daemon?.log().slice(-2_000)}`
    })
    await daemon.ready
    const layout = createHomeLayout(home)
    const token = (await readFile(layout.tokenFile, 'utf8')).trim()
    const found = await findRunningDaemon({ home: layout, token: () => token })
    if (found === undefined) throw new Error(`the gateway did not start: ${daemon.log()}`)
    const url = found.url
    prober = fork(fileURLToPath(new URL('./prober.ts', import.meta.url)), [url, String(daemon.pid)])
    const take = () => probe(prober)
    const system: System = {
      home,
      workspace,
      config,
      url,
      token,
      platforms,
      setReplies: (next) => (replies = [...next]),
    }
    await pause(3_000)
    await take()
    await pause(2_000)
    const idle = await take()
    for (const input of warmUps) await send(input, system)
    await take()
    for (const input of hostileInputs) {
      if (!input.name.includes(only)) continue
      if (ended !== undefined) break
      await send(input, system)
      const result = await take()
      results.push({ name: input.name, ...result })
      if (result.cpuMs > 20)
        progress(`${input.name}: ${result.cpuMs.toFixed(0)} ms CPU, ${result.wallMs.toFixed(0)} ms`)
    }
    return { idle, results, ended }
  } finally {
    prober?.disconnect()
    daemon?.signal('SIGKILL')
    await daemon?.ended
    for (const platform of platforms) await platform.close()
    await model.stop()
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Load what a first message, a first command and a first file load. */
const warmUps: readonly HostileInput[] = [
  ...(['telegram', 'discord', 'slack'] as const).map((entry) => ({ name: `warm-up: ${entry}`, entry })),
  ...['true', 'echo "$HOME"; ls | head -3', 'for a in 1 2; do true; done'].map((command) => ({
    name: `warm-up: ${command}`,
    entry: 'api' as const,
    replies: () => [{ toolCalls: [{ id: 'call_1', name: 'terminal', arguments: { command } }] }, { text: 'done' }],
  })),
]

interface System {
  readonly home: string
  readonly workspace: string
  readonly config: string
  readonly url: string
  readonly token: string
  readonly platforms: readonly TestPlatform[]
  setReplies(replies: readonly ModelReply[]): void
}

function configOf(modelUrl: string, workspace: string, platforms: readonly TestPlatform[]): string {
  const sections = platforms.map(({ platform, config }) => [platform, { enabled: true, ...config }])
  const values = {
    model: 'test',
    provider: 'openai',
    base_url: modelUrl,
    api_key: 'none',
    http: { port: 0 },
    auxiliary: { title_generation: { enabled: false } },
    streaming: { buffer_threshold: 60 },
    agent: { drain_timeout: 2 },
    // Commands that expand to gigabytes need its limit of memory.
    terminal: { sandbox: 'auto', max_memory_mb: 256, cwd: workspace },
    approvals: { deny: ['*999999999*', '*a*b*c*', '*?a*?b*?c*?', '* * * *?*', 'mkfs*', `${'*a'.repeat(50)}x`] },
    platforms: Object.fromEntries(sections),
  }
  return Object.entries(values)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
    .join('')
}

async function send(input: HostileInput, system: System): Promise<void> {
  switch (input.entry) {
    case 'api':
      return sendToApi(input, system)
    case 'body':
      await post(system, input.body())
      return
    case 'config':
      await writeFile(join(system.home, 'config.yaml'), `${system.config}${input.yaml()}`)
      await pause(1_500)
      await writeFile(join(system.home, 'config.yaml'), system.config)
      return pause(700)
    case 'hook': {
      const folder = join(system.home, 'hooks', 'hostile')
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await writeFile(join(folder, 'handler.mjs'), 'export function handle() {}\n', { mode: 0o600 })
      await writeFile(join(folder, 'HOOK.yaml'), input.yaml(), { mode: 0o600 })
      await pause(1_500)
      await rm(folder, { recursive: true, force: true })
      return pause(700)
    }
    default:
      return sendToChat(input, system)
  }
}

async function sendToApi(input: Extract<HostileInput, { entry: 'api' }>, system: System): Promise<void> {
  const { text = () => 'hello', replies = () => [], files = (): Readonly<Record<string, string>> => ({}) } = input
  system.setReplies(replies())
  const names = Object.entries<string>(files())
  for (const [name, content] of names) await writeFile(join(system.workspace, name), content)
  await post(system, JSON.stringify({ model: 'hermes', stream: true, messages: [{ role: 'user', content: text() }] }))
  for (const [name] of names) await rm(join(system.workspace, name), { force: true })
}

/** Resolves when the answer is complete or refused, also when the gateway breaks the connection off. */
async function post({ url, token }: System, body: string): Promise<void> {
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body,
      signal: AbortSignal.timeout(apiTimeoutMs),
    })
    await response.arrayBuffer()
  } catch {
    // The gateway may break off a hostile request. The next one shows that it still runs.
  }
}

/** A chat answers after its draft; the end of the processor time of the gateway shows that nothing is left to render. */
async function sendToChat(
  {
    entry,
    text = () => 'hello',
    reply = () => 'done',
  }: Extract<HostileInput, { entry: 'telegram' | 'discord' | 'slack' }>,
  system: System,
): Promise<void> {
  const platform = system.platforms.find((one) => one.platform === entry)
  if (platform === undefined) throw new Error(`no platform ${entry}`)
  system.setReplies([{ text: reply() }])
  const { probe: chat } = platform.chats
  const before = platform.sentMessages(chat).length
  platform.say(chat, text())
  for (let tries = 0; tries < 60; tries++) {
    await pause(50)
    const sent = platform.sentMessages(chat)
    if (sent.length > before && sent.at(-1)?.draft !== true) break
  }
  await pause(150)
}

function probe(prober: ChildProcess | undefined): Promise<ProbeResult> {
  return new Promise((resolve) => {
    prober?.once('message', (result: ProbeResult) => resolve(result))
    prober?.send('take')
  })
}
