/**
 * Connects the MCP servers with this machine: programs run in the sandbox with few variables, servers on the network get the
 * configured headers or the token of a login. Loaded when a server is configured.
 */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import type { AgentConfig } from '../../agent/config.ts'
import { createCatalogueCache } from '../../agent/mcp/catalogue-cache.ts'
import type { McpConfig, McpServerConfig } from '../../agent/mcp/config.ts'
import { createLoginStore } from '../../agent/mcp/login-store.ts'
import { McpServerError } from '../../agent/mcp/mcp-server-error.ts'
import type { AnswerSampling } from '../../agent/mcp/sampling.ts'
import { routeSdkWarnings } from '../../agent/mcp/sdk-warnings.ts'
import { createMcpServers, type McpServers } from '../../agent/mcp/servers.ts'
import type { ServerTransport } from '../../agent/mcp/transport.ts'
import type { Auxiliary } from '../../agent/models/auxiliary.ts'
import type { Sandbox } from '../../agent/sandbox/sandbox.ts'
import type { QuestionPort } from '../../agent/tools/clarify.ts'
import { prepareProcessFolder } from '../../lib/files.ts'
import { findProgram } from '../../lib/find-program.ts'
import type { SecretRegistry } from '../../lib/redact.ts'
import { openSandboxes } from '../environments/open-sandbox.ts'
import { type Machine, workingDirectory } from '../environments/working-directory.ts'
import { createGuardedFetch } from './guarded-fetch.ts'

/** The machine on which the servers start. */
export interface McpMachine extends Machine {
  readonly settings: () => McpConfig & Pick<AgentConfig, 'terminal'>
  readonly secrets: Pick<SecretRegistry, 'set'>
  /** Opens the proxy for commands that reach listed hosts only. */
  openProxy(directory: string): Promise<unknown>
}

export interface McpRuntimeDeps extends McpMachine {
  readonly version: string
  /** Absent: no server gets texts of a model. */
  readonly auxiliary?: Auxiliary
  /** Asks the user of the turn to which a call belongs; undefined where there is none. */
  readonly askUserOf?: QuestionPort['askUserOf']
  onToolsChanged(): void
  /** ms */
  readonly clock: () => number
  readonly random: () => number
}

export interface McpRuntime extends McpServers {
  /** Forgets the sandboxes, because the configuration has changed. */
  reconfigured(): void
}

export function openMcpServers(deps: McpRuntimeDeps): McpRuntime {
  const { home, auxiliary, clock, log } = deps
  const opener = createServerOpener(deps)
  const stopRouting = routeSdkWarnings(console, (text) =>
    log.warn({ event: 'mcp.sdk_warning', text }, 'the SDK for MCP servers has warned'),
  )
  const servers = createMcpServers({
    ...deps,
    cache: createCatalogueCache(home.mcpCache),
    openTransport: opener.open,
    surroundings: () => JSON.stringify(deps.settings().terminal),
    async storePicture(bytes) {
      const { PictureRefused, storePicture } = await import('../../media/pictures.ts')
      try {
        return await storePicture(home.pictures, bytes)
      } catch (error) {
        if (error instanceof PictureRefused) return error.message
        throw error
      }
    },
    ...(auxiliary === undefined
      ? {}
      : {
          createSampling: (server: string, { sampling }: McpServerConfig): AnswerSampling => {
            let answer: AnswerSampling | undefined
            return async (params, signal) => {
              const { createSampling } = await import('../../agent/mcp/sampling.ts')
              answer ??= createSampling({ server, settings: sampling, model: auxiliary('mcp'), clock, log })
              return await answer(params, signal)
            }
          },
        }),
    async refuse(server, { command, sandbox }, { role }) {
      if (role === 'owner' || command === undefined || !sandbox) return undefined
      return (await opener.sandboxOf(server))?.kind === 'none' ? sandboxMissing(server) : undefined
    },
  })
  return {
    ...servers,
    reconfigured() {
      opener.reset()
      servers.reconfigured()
    },
    async close() {
      await servers.close()
      stopRouting()
    },
  }
}

/** Opens connections to servers. Imports the SDK with the first one. */
export function createServerOpener(deps: McpMachine) {
  const { home, settings, secrets } = deps
  /** For all servers, because the first start of several prepares the same folders. */
  let opening: ReturnType<typeof openSandboxes> | undefined
  let sandboxes = new Map<string, Sandbox>()

  /** A server has a `/tmp` of its own: what the commands of the agent write must not become its programs. */
  const sandboxOf = async (server: string): Promise<Sandbox | undefined> => {
    opening ??= openSandboxes(deps, workingDirectory(deps), deps.openProxy)
    const current = opening
    try {
      const create = await current
      const known = sandboxes.get(server)
      if (known !== undefined || create === undefined) return known
      const created = create(join(home.mcpCache, 'tmp', server))
      if (opening === current) sandboxes.set(server, created)
      return created
    } catch (error) {
      // The next start tries again.
      if (opening === current) opening = undefined
      throw error
    }
  }

  return {
    sandboxOf,
    reset() {
      opening = undefined
      sandboxes = new Map()
    },
    /** Rejects with `McpServerError`, or with a system error. */
    async open(server: string, config: McpServerConfig, onErrorLine: (line: string) => void): Promise<ServerTransport> {
      const { url, headers, transport, auth } = config
      if (url === undefined) {
        const sandbox = config.sandbox ? await sandboxOf(server) : undefined
        if (sandbox?.kind === 'none' && isNetworkLimited(settings()))
          throw new McpServerError('unreachable', networkOpen(server))
        prepareProcessFolder(home, workingDirectory(deps))
        const { createStdioTransport } = await import('../../agent/mcp/stdio-transport.ts')
        return createStdioTransport({ ...programOf(deps, server, config, sandbox), onErrorLine })
      }
      const [{ createHttpTransport }, { createTokenSource }, { readTls }] = await Promise.all([
        import('../../agent/mcp/http-transport.ts'),
        import('../../agent/mcp/oauth.ts'),
        import('./mcp-tls.ts'),
      ])
      const userHome = deps.environment().values['HOME'] ?? homedir()
      const tls = readTls({ server, settings: config, directory: home.root, userHome })
      const store = createLoginStore(home.mcpTokens, server, (tokens) => secrets.set(`mcp:${server}`, tokens))
      const authProvider = auth === 'oauth' ? createTokenSource(server, config, store) : undefined
      return createHttpTransport({
        url,
        headers,
        transport,
        fetch: createGuardedFetch(url, { tls }).fetch,
        authProvider,
      })
    },
  }
}

function isNetworkLimited({ terminal }: Pick<AgentConfig, 'terminal'>): boolean {
  return terminal.sandbox_network !== 'on' && terminal.sandbox_network !== true
}

function networkOpen(server: string): string {
  return `The MCP server ${server} was not started: terminal.sandbox_network limits the network, and no sandbox on this machine can. mcp_servers.${server}.sandbox: off starts it without one.`
}

function sandboxMissing(server: string): string {
  return `Refused: there is no sandbox on this machine, and without one only its owner may use the program of the MCP server ${server}.`
}

/** Variables without secrets that programs need. */
const passedVariables = /^(?:PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TERM|TZ|TMPDIR|SHELL)$/

/** How the program is started. Throws `McpServerError` when it cannot be. */
function programOf(
  { settings, environment, home }: McpMachine,
  server: string,
  { command = '', args, env, cwd: configured }: McpServerConfig,
  sandbox: Sandbox | undefined,
) {
  const { values, process } = environment()
  const userHome = values['HOME'] ?? homedir()
  const base = workingDirectory({ settings, environment, home })
  const cwd = configured === '' ? base : resolve(base, expandHome(configured, userHome))
  const serverVariables = Object.fromEntries(
    Object.entries(process).flatMap(([name, value]) =>
      value !== undefined && passedVariables.test(name) ? [[name, value]] : [],
    ),
  )
  const variables = { ...serverVariables, ...sandbox?.variables, ...env }
  const program = expandHome(command, userHome)
  const searchPath = variables['PATH'] ?? ['/usr/local/bin', '/usr/bin', '/bin'].join(delimiter)
  if (!program.includes('/') && findProgram(program, searchPath) === undefined)
    throw new McpServerError(
      'unreachable',
      `The MCP server ${server} cannot be started: there is no program ${program} on the PATH.`,
    )
  const path = program.includes('/') && !isAbsolute(program) ? resolve(cwd, program) : program
  // A program cannot say that a script is hidden: for it there is none.
  const hidden = [
    cwd,
    path,
    ...args.flatMap((arg) => pathsIn(arg, userHome).map((candidate) => resolve(cwd, candidate))),
  ]
    .filter((candidate) => existsSync(candidate))
    .map((candidate) => sandbox?.hiddenReason(candidate))
    .find((reason) => reason !== undefined)
  if (hidden !== undefined)
    throw new McpServerError(
      'unreachable',
      `The MCP server ${server} was not started: ${hidden} mcp_servers.${server}.sandbox: off starts it without a sandbox.`,
    )
  return {
    ...(sandbox === undefined || sandbox.kind === 'none' ? {} : { sandbox: sandbox.kind }),
    argv: sandbox?.wrap([path, ...args], { cwd, usesProxy: true }) ?? [path, ...args],
    cwd: sandbox?.toHostPath(cwd) ?? cwd,
    env: { ...variables, PWD: cwd },
  }
}

/** What may be a path in an argument: all of it, or what follows the `=` of an option. */
function pathsIn(arg: string, userHome: string): readonly string[] {
  const [, value = arg] = /^--?[\w-]+=(.*)$/s.exec(arg) ?? []
  return value.includes('/') ? [expandHome(value, userHome)] : []
}

function expandHome(path: string, userHome: string): string {
  return path.replace(/^~(?=$|\/)/, userHome)
}
