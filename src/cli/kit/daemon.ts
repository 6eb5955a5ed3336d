/**
 * Finds the running daemon of this home and calls its API. The pid file says where it listens; only a response to our token
 * proves that the process is this daemon.
 */
import { z } from 'zod'
import { readErrorResponse, toUnreachableError } from '../../api/client-errors.ts'
import { HermesError, isHermesError, messageOf, systemCode } from '../../lib/errors.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { readDaemonAddress } from '../../lib/pid-file.ts'
import type { CliContext } from './context.ts'

/** The response of `GET /api/status`. Loose, because the daemon may be older or newer. */
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
  homeChannels: z
    .array(
      z.looseObject({
        target: z.looseObject({ platform: z.string(), account: z.string(), chatId: z.string() }),
        name: z.string().optional(),
        origin: z.string(),
      }),
    )
    .default([]),
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
  /** Its current status. */
  readonly report: DaemonReport
  /** Throws the gateway's error, or `cli/no-daemon` when it has stopped meanwhile. */
  post(path: string, body: Readonly<Record<string, unknown>>): Promise<void>
  /**
   * Works like `post`, or sends a GET without a body; resolves with the JSON of the response.
   * @param timeoutMs for requests that take longer than a status query
   */
  request(path: string, body?: Readonly<Record<string, unknown>>, timeoutMs?: number): Promise<unknown>
}

export interface FindDaemonOptions {
  readonly home: HomeLayout
  /** Called only when there is a pid file. */
  readonly token: () => string
  readonly fetch: typeof fetch
  readonly timeoutMs?: number
}

/** A daemon responds within milliseconds, but the machine may be under load. */
const requestTimeoutMs = 5_000

/**
 * The running daemon, or `undefined`. The pid file of a process that has ended is ignored: another program may use its port
 * now and must not receive the token.
 * Throws `cli/daemon-silent`, `http/unauthorised`, `http/token-unusable`, `cli/failed`, or
 * `cli/incompatible-response`.
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

async function sendRequest(request: () => Promise<Response>, { pid, url }: PidFile): Promise<Response> {
  try {
    return await request()
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') {
      throw new HermesError('cli/daemon-silent', `Process ${pid} does not respond at ${url}.`, { cause: error })
    }
    throw toUnreachableError(error)
  }
}

/** `undefined` when no server listens at the address any more. */
async function readReport(request: () => Promise<Response>): Promise<DaemonReport | undefined> {
  let text: string
  try {
    text = await (await request()).text()
  } catch (error) {
    if (isHermesError(error, 'cli/no-daemon')) return undefined
    if (isHermesError(error, 'http/unauthorised')) throw toTokenMismatchError(error)
    throw error
  }
  const report = reportSchema.safeParse(parseJson(text))
  if (report.success) return report.data
  throw new HermesError('cli/incompatible-response', '', { cause: report.error })
}

function toTokenMismatchError(cause: HermesError): HermesError {
  return new HermesError('http/unauthorised', 'The running gateway uses another token than this home.', {
    hint: 'Check whether gateway.token, `http.token` or HERMES_HOME was changed, then restart the gateway.',
    cause,
  })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new HermesError('cli/failed', 'The server at the address of the gateway is not a gateway.', { cause })
  }
}

/** `undefined` when the pid file does not exist or is damaged. */
export function readPidFile(home: HomeLayout): PidFile | undefined {
  try {
    return readDaemonAddress(home)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw new HermesError('home/unusable', `${home.root}: ${messageOf(error)}`, { cause: error })
  }
}

/** Whether a process with this id exists, also one of another user. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return systemCode(error) === 'EPERM'
  }
}

/** Warns on stderr when the daemon is another version, because commands may then show wrong values. */
export function warnVersionMismatch({ version, errors }: Pick<CliContext, 'version' | 'errors'>, daemon: Daemon): void {
  if (daemon.report.version === version) return
  const which = `The running gateway is version ${daemon.report.version}, this command is ${version}.`
  errors.write(`hermes: ${which} Restart the gateway to update it.\n`)
}
