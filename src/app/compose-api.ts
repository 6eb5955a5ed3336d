/**
 * Composes the JSON API. Loaded with its first request.
 */
import { apiRoutes } from '../api/routes.ts'
import { serveRoute } from '../api/serve-route.ts'
import type { ApiServices, GatewayControl } from '../api/services.ts'
import type { FileServices } from '../flows/platform/platform-files.ts'
import { lazy, lazyFunction } from '../lib/cache.ts'
import { HermesError } from '../lib/errors.ts'
import type { PlatformMenu } from '../platforms/context.ts'
import type { HttpRoute } from '../platforms/http-route.ts'
import { createReaderThread } from '../store/sqlite/reader-thread.ts'
import type { AgentRuntime } from './compose-agent.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'

export interface ApiParts extends Pick<GatewayControl, 'status'> {
  readonly agent: Pick<
    AgentRuntime,
    'knownTools' | 'previewPrompt' | 'mcp' | 'plugins' | 'cron' | 'skills' | 'agentServices'
  >
  readonly menu: PlatformMenu
  readonly files: () => Promise<FileServices>
  /** All routes of now, those of platforms included. */
  readonly routes: () => readonly HttpRoute[]
}

export function composeApi(context: AppContext, core: Core, parts: ApiParts): HttpRoute[] {
  const { home, config, settings, store, accountDirectory, platforms, secrets, clock, log } = context
  const { agent, menu } = parts
  const services: ApiServices = {
    store,
    home,
    clock,
    log,
    redact: secrets.redact,
    settings,
    config: context.config,
    lifecycle: lifecycleOf(context, core, parts),
    agent: {
      knownTools: agent.knownTools,
      models: agent.agentServices.models,
      previewPrompt: agent.previewPrompt,
      setSessionServers: agent.mcp.setSessionServers,
      settings,
      skills: agent.skills.load,
      mcp: agent.mcp,
      environments: agent.agentServices.environments,
    },
    accountDirectory,
    platforms,
    platformSettings: { catalogue: platforms.catalogue, config },
    engine: core.engine,
    outbox: core.outbox,
    hooks: core.hooks,
    plugins: agent.plugins,
    sessions: core.sessionServices,
    questions: core.approvals.questions.deps,
    menu,
    opened: openServices(context, core, parts),
  }
  return apiRoutes.map((route) => announcing(serveRoute(route, services), core.events.changed))
}

/** What a client has changed is a change for the others. */
function announcing(route: HttpRoute, changed: (topic: string) => void): HttpRoute {
  if (route.method === 'GET') return route
  const topic = route.path.split('/')[2] ?? ''
  return {
    ...route,
    async handle(request) {
      const answer = await route.handle(request)
      if (answer.ok) changed(topic)
      return answer
    },
  }
}

function lifecycleOf(context: AppContext, core: Core, { status, routes }: ApiParts): GatewayControl {
  const { options, mode, config, lifecycle } = context
  const openApi = lazy(async () => (await import('../api/describe-routes.ts')).createOpenApi(routes, options.version))
  return {
    status,
    stopping: lifecycle.stopping,
    pause: core.pause.pause,
    resume: core.pause.resume,
    shutdown: () => options.onShutdownRequest?.(),
    async restart() {
      if (mode.restart === undefined)
        throw new HermesError('http/bad-request', 'This gateway belongs to a terminal and cannot restart.')
      const { requestRestart } = await import('../flows/lifecycle/restart.ts')
      await requestRestart(context, core.outbox)
      mode.restart()
    },
    reloadConfig: config.reload,
    openApi: async (url) => (await openApi())(url),
  }
}

/** Each is opened with the first request that needs it. */
function openServices(
  { store, config, lifecycle: { stopping }, clock, log }: AppContext,
  { events, outbox, pairing }: Core,
  { agent, files, status }: ApiParts,
): ApiServices['opened'] {
  return {
    changeJobs: lazyFunction(async () => {
      const { handleJobRequest } = await import('../flows/cron/job-services.ts')
      return (action) => handleJobRequest(agent.cron.open, action)
    }),
    files,
    pairing: pairing.admin,
    reader: lazy(() => createReaderThread(new URL('../api/handlers/reader-thread.ts', import.meta.url))),
    changes: lazy(async () =>
      (await import('../flows/events/change-feed.ts')).createChangeFeed(
        {
          observe: ({ changed, ...observer }) => {
            const stops = [
              events.observe({ ...observer, changed }),
              log.observe(() => changed('logs')),
              config.onChange(() => changed('config')),
            ]
            return () => stops.forEach((stop) => void stop())
          },
          warnings: () => JSON.stringify([status().degraded, status().pendingRestart, status().platforms]),
        },
        stopping,
      ),
    ),
    events: lazy(async () =>
      (await import('../flows/events/event-feed.ts')).createEventFeed(
        { store, events, withhold: outbox.withhold, clock, log },
        stopping,
        (call, ms) => {
          const timer = setTimeout(call, ms).unref()
          return () => clearTimeout(timer)
        },
      ),
    ),
  }
}
