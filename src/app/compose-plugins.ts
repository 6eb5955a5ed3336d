/**
 * Composes the plugin manager. The code that loads plugins is imported with the first plugin.
 */

import { fileURLToPath } from 'node:url'
import type { Agent } from '../agent/agent.ts'
import { retryRulesOf } from '../agent/models/retry-policy.ts'
import { createPluginManager, type PluginManager } from '../flows/plugins/plugin-manager.ts'
import type { AgentServices } from '../flows/tools/agent-services.ts'
import type { HomeLayout } from '../lib/home.ts'
import { sleep } from '../lib/timers.ts'
import type { PluginRoot } from '../plugins/discovery.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'
import { createPythonLoader } from './python-plugins.ts'

/** Plugins that ship with the gateway. */
const bundledPluginsDirectory = fileURLToPath(new URL('../../plugins', import.meta.url))

export function pluginDirectories(home: Pick<HomeLayout, 'plugins'>): readonly PluginRoot[] {
  return [
    { path: bundledPluginsDirectory, origin: 'bundled' },
    { path: home.plugins, origin: 'home' },
  ]
}

interface PluginManagerParts {
  readonly agentServices: AgentServices
  readonly currentTurn: Agent['currentTurn']
}

export function composePluginManager(context: AppContext, core: Core, parts: PluginManagerParts): PluginManager {
  const { options, settings, config, secrets, store, accountDirectory, lifecycle, clock, random, log, failpoint } =
    context
  const { stopping } = lifecycle
  const { home, onPluginCall, runAsPlugin } = options
  const { middleware, hooks, memory, sections, skills, daemons, agentHooks, gatewayHooks } = core.pluginRegistries
  const { agentServices, currentTurn } = parts
  const roots = pluginDirectories(home)
  return createPluginManager({
    roots,
    settings,
    environment: config.environment,
    hooks,
    memory,
    daemons,
    middleware,
    gatewayHooks,
    setLoading(loading) {
      core.pluginRegistries.loading = loading
    },
    stopping,
    async openRuntime() {
      const { openPluginRuntime } = await import('./plugin-runtime.ts')
      core.pluginRegistries.connect()
      return openPluginRuntime({
        roots,
        home,
        config,
        commands: core.commands,
        middleware,
        hooks,
        memory,
        sections,
        skills,
        daemons,
        agentHooks,
        agents: agentServices,
        inbox: core.inbox,
        store,
        access: accountDirectory.access,
        embeddedSessionKey: core.embeddedSessionKey,
        currentTurn,
        approve: core.approvals.approveTool,
        // What a provider stores must stay intact, so words of everyday text are not replaced.
        redact: secrets.redactKnown,
        timeoutMs: () => settings().plugins.hook_callback_timeout * 1_000,
        retry: () => retryRulesOf(settings().agent),
        pause: core.pauseTurn,
        toolsChanged: agentServices.tools.changed,
        loadPython: createPythonLoader({ home, config, clock, random, sleep }),
        onPluginCall,
        runAsPlugin,
        stopping,
        clock,
        random,
        log,
        failpoint,
      })
    },
  })
}
