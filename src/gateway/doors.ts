/**
 * The doors to the outside: the token, what the status shows, the HTTP server, and the platforms with what each adapter
 * is given. Nothing listens and nothing connects before `start` of each is called.
 */
import { troublesOf } from '../hooks/report.ts'
import { createHttpServer, type HttpServer } from '../http/server.ts'
import { openGatewayToken } from '../http/token.ts'
import { pause } from '../lib/wait.ts'
import { loadPlatform } from '../platforms/registry.ts'
import { createSupervisor, type Supervisor } from '../platforms/supervisor.ts'
import { adminRoutes } from './admin-routes.ts'
import type { Conversations } from './conversations.ts'
import { hookRoutes } from './hook-routes.ts'
import type { GatewayStatusReport } from './options.ts'
import { createPlatformContext, type PlatformContextDeps } from './platform-context.ts'
import { pluginRoutes } from './plugin-routes.ts'
import type { Rooms } from './rooms.ts'
import type { Shared } from './shared.ts'

export interface DoorsDeps extends Pick<Conversations, 'agents' | 'plugins'> {
  /** Where HTTP listens; '' before it does. */
  url(): string
  /** Platforms are connecting for the first time. */
  settling(): boolean
}

export interface Doors {
  readonly token: () => string
  readonly status: () => GatewayStatusReport
  readonly http: HttpServer
  readonly supervisor: Supervisor
}

/** Throws `http/token-unusable`. */
export function createDoors(shared: Shared, rooms: Rooms, deps: DoorsDeps): Doors {
  const { options, config, settings, people, store, phase, degraded, redact, clock, random, log } = shared
  const { home, version, only } = options
  const { agents, plugins } = deps
  const { engine, outbox, hooks, background, questions } = rooms

  const token = openGatewayToken({ home: home.root, configured: settings().http.token, log })
  shared.secrets.set('token', [token()])

  const status = (): GatewayStatusReport => ({
    version,
    pid: process.pid,
    home: home.root,
    url: deps.url(),
    status: phase(),
    uptimeMs: clock() - shared.startedAt,
    ...agents.describe(),
    platforms: supervisor.health(),
    degraded: [...degraded(), ...lostEvents(rooms.pluginGround.middleware.events().dropped)],
    pendingRestart: config.state().pendingRestart,
    turns: engine.load(),
    background: background.open(),
    hooks: troublesOf(hooks?.list() ?? []).map((one) => ({ ...one, reason: redact(one.reason) })),
    plugins: plugins.troubles().map((one) => ({ ...one, reason: redact(one.reason) })),
    daemons: rooms.pluginGround.daemons.status().map(({ name, owner, state, restarts, lastError }) => ({
      name,
      owner,
      state,
      restarts,
      reason: redact(lastError?.text ?? ''),
    })),
  })

  const http = createHttpServer({
    settings: { ...settings().http, ...(only === undefined ? {} : { host: '127.0.0.1', port: 0 }) },
    token,
    log,
    readiness: () => ({
      status: phase(),
      platforms: shownHealth(supervisor.health()),
      degraded: degraded(),
      settling: deps.settling(),
    }),
    adminRoutes: [
      ...adminRoutes({ store, engine, outbox, clock, status, shutdown: () => options.onShutdownRequest?.() }),
      ...(hooks === undefined ? [] : hookRoutes(hooks, redact)),
      ...pluginRoutes(plugins, config.reload, redact),
    ],
  })

  const given: PlatformContextDeps = {
    home: home.root,
    store,
    inbox: rooms.inbox,
    outcomes: rooms.outcomes,
    outbox,
    sessions: rooms.sessions,
    log,
    clock,
    route: http.route,
    info: () => ({ version, ...agents.describe(), degraded: degraded() }),
    press: questions.press,
    commands: rooms.commands.list,
  }
  const supervisor = createSupervisor({
    accounts: people.accounts(),
    load: (platform) => loadPlatform(platform, log.child({ platform: platform.name })),
    createContext: (account, life) => createPlatformContext(given, account, life),
    clock,
    random,
    pause,
    log,
    onConnected: (account) => outbox.platformConnected(account.platform.name, account.account),
  })

  return { token, status, http, supervisor }
}

function shownHealth(health: ReturnType<Supervisor['health']>) {
  return Object.fromEntries(Object.entries(health).filter(([, { state }]) => state !== 'disabled'))
}

/** Observers of plugins that are too slow for what happens are told of, not waited for. */
function lostEvents(dropped: number): readonly string[] {
  return dropped === 0
    ? []
    : [`${dropped} events of model and tool calls were dropped: an observer of a plugin is too slow`]
}
