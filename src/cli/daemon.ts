/**
 * The running daemon of this home, as commands talk to it. A note in the home says where it listens; only an answer to
 * our token proves that it is the one.
 */
import { z } from 'zod'
import { readDaemonAddress } from '../app/pid-file.ts'
import { HermesError, isHermesError, messageOf, systemCode } from '../lib/errors.ts'
import type { HomeLayout } from '../lib/home.ts'
import { readErrorResponse, toUnreachableError } from './api-errors.ts'
import type { CliContext } from './context.ts'

/** What `GET /api/status` says, as far as this version reads it: the daemon may be older or newer. */
const reportSchema = z.looseObject({
  version: z.string(),
  pid: z.number(),
  home: z.string(),
  url: z.string(),
  status: z.enum(['starting', 'ready', 'draining']),
  uptimeMs: z.number(),
  model: z.string(),
  provider: z.string(),
  platforms: z.record(z.string(), z.looseObject({ state: z.string(), reason: z.string().optional() })),
  degraded: z.array(z.string()),
  pendingRestart: z.array(z.string()),
  turns: z.object({ running: z.number(), waiting: z.number() }),
  background: z.array(z.looseObject({ id: z.string(), by: z.string(), ageMs: z.number() })).default([]),
  hooks: z.array(z.looseObject({ name: z.string(), state: z.string(), reason: z.string() })).default([]),
  plugins: z.array(z.looseObject({ id: z.string(), state: z.string(), reason: z.string() })).default([]),
  daemons: z
    .array(
      z.looseObject({
        name: z.string(),
        owner: z.string(),
        state: z.string(),
        restarts: z.number(),
        reason: z.string(),
      }),
    )
    .default([]),
})
export type DaemonReport = z.output<typeof reportSchema>

export interface Daemon {
  readonly url: string
  readonly pid: number
  readonly token: string
  /** What it said of itself just now. */
  readonly report: DaemonReport
  /** Throws what the gateway says, or `cli/no-daemon` when it went away meanwhile. */
  post(path: string, body: Readonly<Record<string, unknown>>): Promise<void>
  /**
   * As `post`, or a GET without a body; resolves with the JSON of the answer.
   * @param timeoutMs for what may take longer than the look at a status
   */
  request(path: string, body?: Readonly<Record<string, unknown>>, timeoutMs?: number): Promise<unknown>
}

export interface FindDaemonOptions {
  readonly home: HomeLayout
  /** Called only when there may be a daemon. */
  readonly token: () => string
  readonly fetch: typeof fetch
  readonly timeoutMs?: number
}

/** A daemon that works answers in milliseconds; a machine under load gets its time. */
const requestTimeoutMs = 5_000

/**
 * The daemon that runs, or undefined when there is none. A note left by a process that died counts as none: its port
 * may belong to a stranger now, who must not be shown the token.
 * Throws `cli/daemon-silent`, `http/unauthorised`, `http/token-unusable`, or `cli/failed` for an answer it cannot read.
 */
export async function findRunningDaemon(options: FindDaemonOptions): Promise<Daemon | undefined> {
  const pidFile = readPidFile(options.home)
  if (pidFile === undefined || !isProcessAlive(pidFile.pid)) return undefined
  const token = options.token()
  const call = async (
    path: string,
    body?: Readonly<Record<string, unknown>>,
    timeoutMs = options.timeoutMs ?? requestTimeoutMs,
  ) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const payload = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const signal = AbortSignal.timeout(timeoutMs)
    const response = await sendRequest(
      () => options.fetch(new URL(path, pidFile.url), { headers, signal, ...payload }),
      pidFile,
    )
    if (!response.ok) throw await readErrorResponse(response)
    return response
  }
  const report = await readReport(() => call('/api/status'))
  if (report === undefined || report.pid !== pidFile.pid) return undefined
  return {
    url: pidFile.url,
    pid: pidFile.pid,
    token,
    report,
    async post(path, body) {
      const response = await call(path, body)
      await response.body?.cancel()
    },
    request: async (path, body, timeoutMs) => parseJson(await (await call(path, body, timeoutMs)).text()),
  }
}

type PidFile = NonNullable<ReturnType<typeof readDaemonAddress>>

async function sendRequest(ask: () => Promise<Response>, { pid, url }: PidFile): Promise<Response> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') {
      throw new HermesError('cli/daemon-silent', `Process ${pid} does not answer at ${url}.`, { cause: error })
    }
    throw toUnreachableError(error)
  }
}

/** Undefined when nothing listens there any more, or something that is no gateway. */
async function readReport(ask: () => Promise<Response>): Promise<DaemonReport | undefined> {
  let text: string
  try {
    text = await (await ask()).text()
  } catch (error) {
    if (isHermesError(error, 'cli/no-daemon')) return undefined
    if (isHermesError(error, 'http/unauthorised')) throw toTokenMismatchError(error)
    throw error
  }
  const report = reportSchema.safeParse(parseJson(text))
  if (report.success) return report.data
  throw new HermesError('cli/failed', 'The gateway answers in a form that this version does not know.', {
    hint: 'It may be another version: restart it, then try again.',
    cause: report.error,
  })
}

function toTokenMismatchError(cause: HermesError): HermesError {
  return new HermesError('http/unauthorised', 'The running gateway knows another token than this home holds.', {
    hint: 'Was gateway.token or `http.token` changed, or does HERMES_HOME name another home? Restart the gateway.',
    cause,
  })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new HermesError('cli/failed', 'What answers at the address of the gateway is no gateway.', { cause })
  }
}

/** A note that cannot be read is as good as none. */
export function readPidFile(home: HomeLayout): PidFile | undefined {
  try {
    return readDaemonAddress(home)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw new HermesError('home/unusable', `${home.root}: ${messageOf(error)}`, { cause: error })
  }
}

/** Whether a process of this number exists, also one of another user. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return systemCode(error) === 'EPERM'
  }
}

/** Says on stderr when the daemon is of another version: what commands show of it may be wrong. */
export function warnVersionMismatch({ version, errors }: Pick<CliContext, 'version' | 'errors'>, daemon: Daemon): void {
  if (daemon.report.version === version) return
  const which = `The running gateway is version ${daemon.report.version}, this command is ${version}.`
  errors.write(`hermes: ${which} Restart the gateway to have both alike.\n`)
}
