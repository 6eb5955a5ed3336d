/**
 * A gateway process that can be killed at any moment and restarted in the same home.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { childEnvironment } from '../kit/child-environment.ts'
import { daemonAllocator, daemonFlags } from '../kit/daemon-command.ts'
import { bundleFlags, gatewayBundle } from '../kit/gateway-bundle.ts'

export interface HomeSettings {
  readonly chatUrl: string
  readonly modelUrl: string
  /** YAML of further settings of `agent`, in one line. */
  readonly agent?: string
}

/** Creates the home, with the chat platform of the crash tests and frequent draft updates. */
export async function createGatewayHome(home: string, { chatUrl, modelUrl, agent = '' }: HomeSettings): Promise<void> {
  const wire = join(home, 'platforms', 'wire')
  await mkdir(wire, { recursive: true, mode: 0o700 })
  await cp(fileURLToPath(new URL('../crash/wire/', import.meta.url)), wire, { recursive: true })
  await writeFile(
    join(home, 'config.yaml'),
    `model: test
provider: openai
base_url: ${modelUrl}
api_key: none
http: { port: 0 }
auxiliary: { title_generation: { enabled: false } }
streaming: { edit_interval: 0.005, buffer_threshold: 8 }
display: { tool_progress: "off", busy_input_mode: queue, busy_text_debounce_seconds: 0, busy_ack_enabled: false }
agent: { drain_timeout: 5${agent === '' ? '' : `, ${agent}`} }
terminal: { sandbox: "off" }
platforms:
  wire: { enabled: true, url: "${chatUrl}", allow_from: [u1] }
`,
    { mode: 0o600 },
  )
}

export interface GatewayProcess {
  readonly pid: number
  /** The end of its log. */
  log(): string
  /** Resolves when the gateway is ready or has exited. */
  readonly ready: Promise<void>
  /** Resolves with the signal that ended the process, or with its exit code. */
  readonly ended: Promise<NodeJS.Signals | number | null>
  signal(signal: NodeJS.Signals): void
}

/** A gateway with only the platforms of its home. */
export function startGatewayProcess(home: string): GatewayProcess {
  return start(
    ['../crash/child.mjs', JSON.stringify({ home, bundle: gatewayBundle('gateway') })],
    childEnvironment(home),
  )
}

/** `hermes gateway run` with the bundled platforms. */
export function startDaemonProcess(home: string): GatewayProcess {
  const environment = { ...childEnvironment(home), ...daemonAllocator, HERMES_HOME: home }
  return start(['../../src/main.mjs', 'gateway', 'run'], environment, [...daemonFlags, ...bundleFlags()])
}

function start(
  [program, ...words]: readonly [string, ...string[]],
  environment: NodeJS.ProcessEnv,
  flags: readonly string[] = [],
): GatewayProcess {
  const file = fileURLToPath(new URL(program, import.meta.url))
  const child: ChildProcess = spawn(process.execPath, [...flags, file, ...words], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: environment,
  })
  const ready = Promise.withResolvers<void>()
  let log = ''
  child.stderr?.on('data', (piece) => {
    log = (log + piece).slice(-20_000)
    if (log.includes('"event":"gateway.ready"')) ready.resolve()
  })
  child.once('exit', () => ready.resolve())
  return {
    pid: child.pid ?? 0,
    log: () => log,
    ready: ready.promise,
    ended: new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code))),
    signal: (signal) => void child.kill(signal),
  }
}
