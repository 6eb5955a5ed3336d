/**
 * Composes the endpoints: the token, the status, the HTTP server and the platforms with their contexts. Nothing listens
 * and nothing connects before `start` of each is called.
 */
import { createStatus, enabledPlatforms, type GatewayStatusReport, pluginWarnings } from '../flows/lifecycle/status.ts'
import { type AdapterServices, createPlatformContext } from '../flows/platform/platform-context.ts'
import type { FileServices } from '../flows/platform/platform-files.ts'
import { openGatewayToken } from '../http/gateway-token.ts'
import { createHttpServer, type HttpServer } from '../http/server.ts'
import { lazy, lazyFunction } from '../lib/cache.ts'
import type { Log } from '../lib/log-writer.ts'
import { sleep } from '../lib/timers.ts'
import type { PlatformAccount } from '../platforms/accounts.ts'
import type { PlatformAutomation } from '../platforms/automation.ts'
import type { CommandEntry, PlatformMenu } from '../platforms/context.ts'
import type { HttpRoute } from '../platforms/http-route.ts'
import { type InstalledPlatform, loadPlatform } from '../platforms/registry.ts'
import { createSupervisor } from '../platforms/supervisor.ts'
import { lockHome } from '../store/sqlite/lock.ts'
import type { CommandGateway, ModelAccess } from './built-in-commands.ts'
import type { AgentRuntime } from './compose-agent.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'
import type { GatewayOptions } from './options.ts'

export type Endpoints = ReturnType<typeof composeEndpoints>

/**
 * Throws `http/token-unusable`.
 * @param changedPlatforms folders of platforms that were changed since the start
 */
export function composeEndpoints(
  { context, core, agent: agentRuntime, models }: CommandGateway,
  changedPlatforms: () => readonly string[],
) {
  const { options, settings, accountDirectory, clock, random, log } = context
  const token = openGatewayToken(options.home.root, settings().http.token, log)
  context.secrets.set('token', [token()])

  let address = ''
  let isConnecting = true
  const url = () => address
  const pendingRestart = () => [...context.config.state().pendingRestart, ...changedPlatforms()]
  const status = createStatus(context, core, agentRuntime, url, pendingRestart)
  const files = composeFiles(context)
  const http = composeHttp(context, core, agentRuntime, { token, status, files, isConnecting: () => isConnecting })
  const adapterServices = adapterServicesOf(context, core, agentRuntime, { http, files, models })
  const load = (platform: InstalledPlatform) => loadPlatform(platform, log.child({ platform: platform.name }))
  const supervisor = createSupervisor(accountDirectory.list(), load, {
    createContext: (account, lifecycle) => createPlatformContext(context, core, adapterServices, account, lifecycle),
    lockCredentials: (account) => lockAccount(options, account, log),
    clock,
    random,
    sleep,
    log,
    setAdapter: ({ platform, account }, adapter) =>
      accountDirectory.setAdapter({ platform: platform.name, account }, adapter),
    onHealth: () => core.events.changed('platforms'),
    onConnected: (account) => core.outbox.platformConnected(account.platform.name, account.account),
  })
  void supervisor.initialConnectsDone().then(() => {
    isConnecting = false
  })
  return {
    token,
    /** Where HTTP listens; '' before it does. */
    url,
    /** Starts HTTP. Rejects `http/port-in-use` or `http/cannot-listen`. */
    async listen() {
      address = (await http.start()).url
    },
    status,
    http,
    supervisor,
  }
}

async function lockAccount({ home, environment }: GatewayOptions, account: PlatformAccount, log: Log) {
  const { lockCredentials } = await import('../platforms/credential-lock.ts')
  return lockCredentials(account, { home: home.root, environment, pid: process.pid, lockFile: lockHome, log })
}

interface HttpParts {
  readonly token: () => string
  readonly status: () => GatewayStatusReport
  /** Platforms are connecting for the first time. */
  readonly isConnecting: () => boolean
  readonly files: () => Promise<FileServices>
}

/** Loads the files of messages with the first call. */
function composeFiles({ options, settings, clock }: AppContext): () => Promise<FileServices> {
  return lazy(async () => {
    const { createFileServices } = await import('../flows/platform/platform-files.ts')
    return createFileServices({
      folder: options.home.media,
      pictures: options.home.pictures,
      clock,
      maxBytes: () => maxFileBytes(settings()),
    })
  })
}

function maxFileBytes({ media }: ReturnType<AppContext['settings']>): number {
  return media.max_mb * 1_048_576
}

function composeHttp(
  context: AppContext,
  core: Core,
  agent: AgentRuntime,
  { token, status, isConnecting, files }: HttpParts,
): HttpServer {
  const { options, mode, settings, platforms, lifecycle, problems, secrets, log } = context
  const { version } = options
  const loadRoutes = lazy(async () => {
    const { composeApi } = await import('./compose-api.ts')
    const menu = menuOf(core, agent.skills)
    return composeApi(context, core, { agent, menu, files, status, routes: server.routes })
  })
  const server: HttpServer = createHttpServer({
    allowed: () => settings().http,
    settings: { ...settings().http, ...mode.address },
    token,
    log,
    readiness: {
      lifecycle,
      isConnecting,
      platforms: () => enabledPlatforms(platforms.health()),
      degraded: () => [
        ...problems.degraded(),
        ...pluginWarnings(agent.plugins.failures()).map((text) => secrets.redact(text)),
      ],
    },
    adminRoutes: mcpRoutes({ version, log }, loadRoutes),
    lazyRoutes: { prefix: '/api/', load: loadRoutes },
  })
  return server
}

/** `/mcp`, which calls the routes of the API. Loads the code with the first request. */
function mcpRoutes(
  { version, log }: { readonly version: string; readonly log: Log },
  loadRoutes: () => Promise<readonly HttpRoute[]>,
): readonly HttpRoute[] {
  const handle: HttpRoute['handle'] = lazyFunction(async () => {
    const [{ composeMcpEndpoint }, routes] = await Promise.all([import('./compose-mcp-endpoint.ts'), loadRoutes()])
    return composeMcpEndpoint(routes, version, log)
  })
  const methods = ['GET', 'POST', 'DELETE'] as const
  return methods.map((method) => ({ method, path: '/mcp', access: 'token' as const, handle }))
}

/** What menus of commands show. */
function menuOf({ commands, pluginRegistries }: Core, skills: AgentRuntime['skills']): PlatformMenu {
  return {
    commands: () => [...commands.list(), ...skills.menu()].map(toEntry),
    async complete() {
      await pluginRegistries.loading?.done
      // After the plugins: a command of a plugin wins over a skill of its name.
      await skills.readMenu()
    },
  }
}

function toEntry({ name, description, argsHint, aliases, choices }: CommandEntry): CommandEntry {
  return { name, description, argsHint, aliases, choices }
}

/** Loads the code with the first call. */
function composeAutomation(
  context: AppContext,
  { outbox }: Core,
  { agentServices, skills, cron }: AgentRuntime,
): (platform: string) => Promise<PlatformAutomation> {
  return async (platform) => {
    const { createPlatformAutomation } = await import('../flows/platform/platform-automation.ts')
    const { openShell } = agentServices.environments
    return createPlatformAutomation(context, outbox, { openShell, skills, cron }, platform)
  }
}

function adapterServicesOf(
  context: AppContext,
  core: Core,
  agentRuntime: AgentRuntime,
  {
    http,
    files,
    models,
  }: { readonly http: HttpServer; readonly files: () => Promise<FileServices>; readonly models: ModelAccess },
): AdapterServices {
  const { options, accountDirectory, problems } = context
  const { version } = options
  const { agentServices, skills } = agentRuntime
  const automation = composeAutomation(context, core, agentRuntime)
  return {
    route: http.route,
    files: {
      upload: async (id) => (await files()).upload(id),
      store: async (source, about) => (await files()).store(source, about),
      picture: async (source) => (await files()).picture(source),
      open: async (name) => (await files()).open(name),
    },
    gatewayFor: (platform) => ({
      info: () => ({ version, ...agentServices.models.describe(), degraded: problems.degraded() }),
      modelOf: (source) => models.modelOf({ source, sessionKey: accountDirectory.sessionKey(source) }),
      automation: () => automation(platform),
    }),
    async press(press) {
      // The role decides who may answer.
      if (accountDirectory.access(press).allowed) await accountDirectory.lookUpAuthority(press.source)
      return await core.approvals.questions.press(press)
    },
    menu: menuOf(core, skills),
  }
}
