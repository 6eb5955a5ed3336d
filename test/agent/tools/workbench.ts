/**
 * A setup for tool tests: a temporary directory with a home, a local environment and the registry of the real tools.
 */
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFileGuard } from '../../../src/agent/command-policy/file-guard.ts'
import { createCommandPolicy } from '../../../src/agent/command-policy/policy.ts'
import { createLocalEnvironment } from '../../../src/agent/environments/local-environment.ts'
import { createLocalFiles } from '../../../src/agent/environments/local-files.ts'
import { createProcessTable, createSessionResourcePool } from '../../../src/agent/environments/session-resources.ts'
import type { ToolServices } from '../../../src/agent/tools/built-in-tools.ts'
import { createToolRegistry, type ToolRegistry } from '../../../src/agent/tools/registry.ts'
import type { ToolContext } from '../../../src/agent/tools/tool.ts'
import { brand } from '../../../src/lib/ids.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { SessionId, TurnId } from '../../../src/message/ids.ts'
import { ownerAuthority } from '../../kit/authority.ts'

export const searchPath = '/usr/local/bin:/usr/bin:/bin'

export interface Workbench extends AsyncDisposable {
  /** Runs commands; the base of relative paths. */
  readonly cwd: string
  readonly home: string
  readonly userHome: string
  readonly services: ToolServices
  readonly registry: ToolRegistry
  readonly context: ToolContext
  /** Runs a tool as the loop does and parses its result. */
  run(name: string, args: Readonly<Record<string, unknown>>, more?: Partial<ToolContext>): Promise<Result>
}

export type Result = Readonly<Record<string, unknown>>

export async function createWorkbench(
  options: { searchPath?: string; services?: Partial<ToolServices> } = {},
): Promise<Workbench> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'hermes-tools-')))
  const cwd = join(root, 'work')
  const userHome = join(root, 'me')
  const home = join(userHome, '.hermes')
  for (const directory of [cwd, home]) await mkdir(directory, { recursive: true })
  const fileGuard = createFileGuard({ home, userHome })
  const services: ToolServices = {
    commandPolicy: createCommandPolicy({ home, userHome }),
    fileGuard,
    searchPath: options.searchPath ?? searchPath,
    maxChildren: 3,
    scripts: { timeoutMs: 60_000, maxCalls: 50 },
    terminal: { timeoutMs: 20_000, maxTimeoutMs: 30_000, maxOutputBytes: 100_000 },
    log: silentLog,
    ...options.services,
  }
  const createEnvironment = () =>
    createLocalEnvironment({
      cwd,
      env: { PATH: searchPath, HOME: userHome },
      graceMs: 50,
      openFiles: async (resolve) =>
        createLocalFiles({ fileGuard, searchPath: options.searchPath ?? searchPath }, resolve),
    })
  const pool = createSessionResourcePool({
    createEnvironment,
    createProcessTable: () => createProcessTable({ now: Date.now }),
    readTodos: () => null,
  })
  const { environment, ...session } = pool.getOrCreate('session', () => [])
  const context: ToolContext = {
    sessionId: 'session',
    turnId: 'turn',
    callId: 'call',
    signal: new AbortController().signal,
    turn: {
      sessionId: brand<SessionId>('session'),
      id: brand<TurnId>('turn'),
      transcript: [],
      authority: ownerAuthority,
    },
    environment,
    session,
    conversation: { attachments: async () => [], pictures: async () => [] },
    limits: { maxResultChars: 50_000 },
  }
  const registry = createToolRegistry({ services, log: silentLog })
  return {
    cwd,
    home,
    userHome,
    services,
    registry,
    context,
    async run(name, args, more = {}) {
      const parsed = (await registry.load()).parse(name, JSON.stringify(args))
      if (!parsed.ok) return { error: parsed.error }
      const result: unknown = JSON.parse(await parsed.call.run({ ...context, ...more }))
      if (!isResult(result)) throw new Error('the result is not a JSON object')
      return result
    },
    async [Symbol.asyncDispose]() {
      await pool.close()
      await rm(root, { recursive: true, force: true })
    },
  }
}

function isResult(value: unknown): value is Result {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
