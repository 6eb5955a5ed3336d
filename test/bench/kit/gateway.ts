/**
 * A gateway in a separate process that is ready for turns.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { daemonAllocator, daemonFlags } from '../../kit/daemon-command.ts'
import { type Child, startChild } from './children.ts'
import { withHome } from './home.ts'

export interface BenchGateway extends Child {
  readonly home: string
  /** The HTTP server, and the token of its owner. */
  address(): Promise<{ readonly url: string; readonly token: string }>
  /** CPU time so far, ms. */
  cpuMs(): Promise<number>
  /** MB; `rss` without, `heap` after a garbage collection. */
  memory(): Promise<{ readonly rss: number; readonly heap: number; readonly external: number }>
}

export interface GatewaySettings {
  /** Lines of config.yaml in addition to the model. */
  readonly config: string
  /** Without it the model responds at once inside the process. */
  readonly modelUrl?: string
  /** Uses the bundled platforms instead of those of the benchmark. */
  readonly shipped?: boolean
  /** Additional files of the home by path. */
  readonly files?: Readonly<Record<string, string>>
  /** Replaces the flags of the daemon. */
  readonly flags?: readonly string[]
}

const addressSchema = z.object({ url: z.string(), token: z.string() })
const memorySchema = z.object({ rss: z.number(), heap: z.number(), external: z.number() })

/** Runs `work` with a gateway. */
export function withGateway<T>(settings: GatewaySettings, work: (gateway: BenchGateway) => Promise<T>): Promise<T> {
  const config = `model: bench
provider: openai
base_url: ${settings.modelUrl ?? 'http://127.0.0.1:9/v1'}
api_key: none
${settings.config.includes('http:') ? '' : 'http: { port: 0 }'}
auxiliary: { title_generation: { enabled: false } }
${settings.config.includes('display:') ? '' : 'display: { busy_input_mode: queue }'}
${settings.config}
`
  return withHome(config, async (home) => {
    for (const [path, text] of Object.entries(settings.files ?? {})) {
      await mkdir(dirname(join(home, path)), { recursive: true, mode: 0o700 })
      await writeFile(join(home, path), text, { mode: 0o600 })
    }
    const child = await startChild('./gateway-child.mjs', {
      flags: [...(settings.flags ?? daemonFlags), '--expose-gc'],
      args: [JSON.stringify({ home, instantModel: settings.modelUrl === undefined, shipped: settings.shipped })],
      env: {
        ...daemonAllocator,
        HOME: home,
        NODE_COMPILE_CACHE: join(tmpdir(), `hermes-bench-cache-${process.getuid?.() ?? 0}`),
      },
    })
    try {
      return await work({
        ...child,
        home,
        address: () => child.request('address', {}, addressSchema),
        cpuMs: () => child.request('cpu', {}, z.number()),
        memory: () => child.request('memory', {}, memorySchema),
      })
    } finally {
      await child.kill()
    }
  })
}
