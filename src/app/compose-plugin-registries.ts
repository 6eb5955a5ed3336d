/**
 * Composes what plugins register with. The registries exist with or without plugins.
 */
import { type AgentHooks, noopAgentHooks } from '../agent/support/agent-hooks.ts'
import type { CommandRegistry } from '../commands/registry.ts'
import { noopGatewayHooks } from '../flows/events/gateway-events.ts'
import { sleep } from '../lib/timers.ts'
import { type MessageEvent, parseCommand } from '../message/event.ts'
import type { SessionSource } from '../message/source.ts'
import type { Middleware } from '../middleware/managed-call.ts'
import { createMiddleware } from '../middleware/middleware.ts'
import { createAgentHooks } from '../plugins/agent-hooks.ts'
import { createDaemons, type Daemons } from '../plugins/daemons/daemons.ts'
import {
  createGatewayHooks,
  type GatewayHooks,
  type GatewayHooksDeps,
  type LoadingPlugins,
} from '../plugins/gateway-hooks.ts'
import { createPluginHooks, type PluginHooks } from '../plugins/hooks/plugin-hooks.ts'
import { type MemorySessionReplacement, noopPluginMemory, type PluginMemory } from '../plugins/plugin-memory.ts'
import { createPluginSkills, type PluginSkills } from '../plugins/plugin-skills.ts'
import { createPromptSections, type PromptSections } from '../plugins/prompt-sections.ts'
import type { AppContext } from './context.ts'

/** What plugins register with. The registries exist with or without plugins. */
export interface PluginRegistries {
  readonly middleware: Middleware
  readonly hooks: PluginHooks
  readonly memory: PluginMemory
  /** Tells the memory of a plugin that a conversation goes on in another session, or with fewer messages. */
  notifyMemory(
    replaced: Pick<MemorySessionReplacement, 'sessionKey' | 'oldSessionId' | 'newSessionId' | 'reason'> & {
      readonly source: SessionSource
    },
  ): void
  readonly sections: PromptSections
  readonly skills: PluginSkills
  readonly daemons: Daemons
  /** The hooks that the agent calls. */
  readonly agentHooks: AgentHooks
  /** The hooks that the gateway calls outside of turns. */
  readonly gatewayHooks: GatewayHooks
  /** The plugins that are loaded while the gateway works already. */
  loading: LoadingPlugins | undefined
  /** Connects `agentHooks` and `gatewayHooks` to `hooks`. Until then they call no callbacks. May be called twice. */
  connect(): void
}

/** Tells the memory of a plugin that a conversation goes on in another session, or with fewer messages. */
function createMemoryNotifier(
  { accountDirectory }: AppContext,
  memory: PluginMemory,
): PluginRegistries['notifyMemory'] {
  return ({ source, ...replaced }) => {
    if (memory.activeProviderName() === undefined) return
    const { platform, chatType, userId = '' } = source
    const role = accountDirectory.access({ source }).allowed ? accountDirectory.authorityOf(source).role : 'guest'
    memory.sessionReplaced({ ...replaced, platform, chatType, userId, role })
  }
}

export function composePluginRegistries(context: AppContext, commands: CommandRegistry): PluginRegistries {
  const { settings, accountDirectory, secrets, clock, random, log } = context
  const timeoutMs = () => settings().plugins.hook_callback_timeout * 1_000
  const callbacks = { log, now: clock, sleep, timeoutMs }
  const middleware = createMiddleware({ log })
  const hooks = createPluginHooks(callbacks, () => settings().plugins.pre_tool_call_errors)
  // Modules keep these objects. Replacing their methods therefore takes effect at the next call, in running turns, too.
  const memory = { ...noopPluginMemory }
  const agentHooks = { ...noopAgentHooks }
  const gatewayHooks = { ...noopGatewayHooks }
  let isConnected = false
  const isUnknownCommand = (event: MessageEvent) => {
    const command = parseCommand(event)
    return command !== null && commands.resolve(command.name) === undefined
  }
  const registries: PluginRegistries = {
    middleware,
    hooks,
    memory,
    notifyMemory: createMemoryNotifier(context, memory),
    sections: createPromptSections(callbacks),
    skills: createPluginSkills(),
    daemons: createDaemons({ log, clock, sleep, random }),
    agentHooks,
    gatewayHooks,
    loading: undefined,
    connect() {
      if (isConnected) return
      isConnected = true
      const streamReasoning = () => settings().plugins.stream_reasoning_deltas
      const routeOf: GatewayHooksDeps['routeOf'] = (source) => accountDirectory.pluginRouteOf({ source })
      const roleOf: GatewayHooksDeps['roleOf'] = (source) =>
        accountDirectory.access({ source }).allowed ? accountDirectory.authorityOf(source).role : null
      Object.assign(agentHooks, createAgentHooks(hooks, memory, streamReasoning, secrets.redact, log))
      Object.assign(
        gatewayHooks,
        createGatewayHooks({ hooks, routeOf, roleOf, loading: () => registries.loading, isUnknownCommand, log }),
      )
    },
  }
  return registries
}
