/**
 * The doors to the outside: the token, what the status shows, the HTTP server, and the platforms with what each adapter
 * is given. Nothing listens and nothing connects before `start` of each is called.
 */

import { adminRoutes } from '../flows/admin-routes.ts'
import { hookRoutes } from '../flows/hook-routes.ts'
import { createPlatformContext, type PlatformContextDeps } from '../flows/platform-context.ts'
import { pluginRoutes } from '../flows/plugin-routes.ts'
import { unhealthyHooks } from '../hooks/hook-status.ts'
import { openGatewayToken } from '../http/gateway-token.ts'
import { createHttpServer, type HttpServer } from '../http/server.ts'
import { sleep } from '../lib/timers.ts'
import { loadPlatform } from '../platforms/registry.ts'
import { createSupervisor, type Supervisor } from '../platforms/supervisor.ts'
import type { AgentRuntime } from './compose-agent.ts'
import type { Core } from './compose-core.ts'
import type { AppContext } from './context.ts'
import type { GatewayStatusReport } from './options.ts'

export interface EndpointsDeps extends Pick<AgentRuntime, 'agentServices' | 'plugins'> {
  /** Where HTTP listens; '' before it does. */
  url(): string
  /** Platforms are connecting for the first time. */
  initialConnectPending(): boolean
}

export interface Endpoints {
  readonly token: () => string
  readonly status: () => GatewayStatusReport
  readonly http: HttpServer
  readonly supervisor: Supervisor
}

/** Throws `http/token-unusable`. */
export function composeEndpoints(context: AppContext, core: Core, deps: EndpointsDeps): Endpoints {
  const { options, config, settings, accountDirectory, store, phase, degraded, redact, clock, random, log } = context
  const { home, version, onlyPlatforms } = options
  const { agentServices, plugins } = deps
  const { engine, outbox, hooks, backgroundTasks, questions } = core

  const token = openGatewayToken({ home: home.root, configured: settings().http.token, log })
  context.secrets.set('token', [token()])

  const status = (): GatewayStatusReport => ({
    version,
    pid: process.pid,
    home: home.root,
    url: deps.url(),
    status: phase(),
    uptimeMs: clock() - context.startedAt,
    ...agentServices.describe(),
    platforms: supervisor.health(),
    degraded: [...degraded(), ...droppedEventsWarnings(core.pluginRegistries.middleware.eventCounts().dropped)],
    pendingRestart: config.state().pendingRestart,
    turns: engine.load(),
    background: backgroundTasks.open(),
    hooks: unhealthyHooks(hooks?.list() ?? []).map((one) => ({ ...one, reason: redact(one.reason) })),
    plugins: plugins.failures().map((one) => ({ ...one, reason: redact(one.reason) })),
    daemons: core.pluginRegistries.daemons.status().map(({ name, owner, state, restarts, lastError }) => ({
      name,
      owner,
      state,
      restarts,
      reason: redact(lastError?.text ?? ''),
    })),
  })

  const http = createHttpServer({
    settings: { ...settings().http, ...(onlyPlatforms === undefined ? {} : { host: '127.0.0.1', port: 0 }) },
    token,
    log,
    readiness: () => ({
      status: phase(),
      platforms: visibleHealth(supervisor.health()),
      degraded: degraded(),
      connecting: deps.initialConnectPending(),
    }),
    adminRoutes: [
      ...adminRoutes({ store, engine, outbox, clock, status, shutdown: () => options.onShutdownRequest?.() }),
      ...(hooks === undefined ? [] : hookRoutes(hooks, redact)),
      ...pluginRoutes(plugins, config.reload, redact),
    ],
  })

  const platformContextDeps: PlatformContextDeps = {
    home: home.root,
    store,
    inbox: core.inbox,
    turnResults: core.turnResults,
    outbox,
    sessions: core.sessionServices,
    log,
    clock,
    route: http.route,
    info: () => ({ version, ...agentServices.describe(), degraded: degraded() }),
    press: questions.press,
    commands: core.commands.list,
  }
  const supervisor = createSupervisor({
    accounts: accountDirectory.list(),
    load: (platform) => loadPlatform(platform, log.child({ platform: platform.name })),
    createContext: (account, life) => createPlatformContext(platformContextDeps, account, life),
    clock,
    random,
    sleep,
    log,
    onConnected: (account) => outbox.platformConnected(account.platform.name, account.account),
  })

  return { token, status, http, supervisor }
}

function visibleHealth(health: ReturnType<Supervisor['health']>) {
  return Object.fromEntries(Object.entries(health).filter(([, { state }]) => state !== 'disabled'))
}

/** Observers of plugins that are too slow for what happens are told of, not waited for. */
function droppedEventsWarnings(dropped: number): readonly string[] {
  return dropped === 0
    ? []
    : [`${dropped} events of model and tool calls were dropped: an observer of a plugin is too slow`]
}
