/**
 * What a turn needs of the agent room: the configured model, the tools, the place where they work. Loaded when the first
 * turn asks for it, so that an idle daemon does not pay for it.
 */
import { resolve } from 'node:path'
import type { AgentConfig } from '../agent/config.ts'
import type { SubagentPlace } from '../agent/conversation.ts'
import { createFrozenTools } from '../agent/frozen-tools.ts'
import type { Provider } from '../agent/provider.ts'
import { providerName } from '../agent/providers/provider-name.ts'
import { createSessionResources } from '../agent/session-resources.ts'
import type { ToolContext } from '../agent/tool.ts'
import type { ToolBox } from '../agent/tool-batch.ts'
import type { Environment } from '../config/environment.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { Logger } from '../lib/log.ts'
import { pause } from '../lib/wait.ts'
import type { ChatMessage, ToolCall } from '../message/transcript.ts'
import type { OfferedTool } from '../plugins/tools.ts'
import type { Turn } from '../turn/journal.ts'
import type { Workshop } from './agent-workshop.ts'

export interface AgentServicesDeps {
  readonly home: HomeLayout
  readonly log: Logger
  readonly settings: () => AgentConfig
  readonly environment: () => Environment
  /** The command line that runs this program, for the `hermes` that commands of the agent find. */
  readonly program: readonly string[]
  /** Variables that no command may see, whatever the configuration says. */
  readonly withheld: readonly string[]
  /** Tools of plugins, in the order in which they were registered. */
  pluginTools(): readonly OfferedTool[]
  /** Takes the gateway's own secrets out of what tools bring back. */
  redact(text: string): string
}

export interface AgentServices {
  model(): Promise<{ readonly provider: Provider; readonly model: string }>
  /** A session keeps being offered the tools with which it began; which of them there are is looked up at each call. */
  tools(sessionId: string): Promise<ToolBox>
  toolContext(turn: Pick<Turn, 'sessionId' | 'id' | 'lines'>, call: ToolCall, signal: AbortSignal): ToolContext
  /** Where the tools of a sub-agent work: a terminal and a list of steps of its own. */
  openPlace(sessionId: string, turnId: string): SubagentPlace
  cwd(): string
  /** What is configured, without loading anything. */
  describe(): { readonly model: string; readonly provider: string }
  /** The configuration has changed: the next turn reads it. */
  reconfigured(): void
  /** Plugins offer other tools: sessions that begin from now on get them. */
  toolsChanged(): void
  close(): Promise<void>
}

export function createAgentServices(deps: AgentServicesDeps): AgentServices {
  const { home, log, settings, environment } = deps
  let chosen: Promise<{ readonly provider: Provider; readonly model: string }> | undefined
  let workshop: Promise<Workshop> | undefined
  let current: Workshop | undefined
  const frozenTools = createFrozenTools()
  const resources = createSessionResources({
    createEnvironment: () => opened().createEnvironment(),
    createProcessTable: () => opened().createProcessTable(),
    readTodos: (argumentsJson) => opened().readTodos(argumentsJson),
  })

  const cwd = () => {
    const userHome = environment().values['HOME'] || home.root
    const wanted = settings().terminal.cwd
    return resolve(userHome, wanted.replace(/^~(?=$|\/)\/?/, ''))
  }
  const providerSettings = () => {
    const { provider, model, base_url, api_key, agent } = settings()
    const { OPENAI_API_KEY = '', ANTHROPIC_API_KEY = '' } = environment().values
    const keys = { apiKey: api_key, openaiApiKey: OPENAI_API_KEY, anthropicApiKey: ANTHROPIC_API_KEY }
    return { provider, model, baseUrl: base_url, ...keys, idleTimeoutMs: agent.model_timeout * 1_000 }
  }

  async function choose() {
    const { createProvider } = await import('../agent/providers/create-provider.ts')
    const choice = createProvider(providerSettings(), { pause })
    if ('problem' in choice) throw choice.problem
    return choice
  }

  async function open(): Promise<Workshop> {
    const { openWorkshop } = await import('./agent-workshop.ts')
    current = await openWorkshop({ ...deps, cwd })
    return current
  }

  /** The workshop of this moment; sessions that are open keep what they were given. */
  function opened(): Workshop {
    if (current === undefined) throw new Error('the tools have not been opened')
    return current
  }

  const contextIn = (
    { sessionId, turnId }: { sessionId: string; turnId: string },
    transcript: () => readonly ChatMessage[],
    call: ToolCall,
    signal: AbortSignal,
  ): ToolContext => ({
    ...resources.of(sessionId, transcript),
    sessionId,
    turnId,
    callId: call.id,
    signal,
    log: log.child({ turn: turnId, tool: call.name }),
    limits: { maxResultChars: settings().agent.max_tool_result_chars },
  })

  return {
    model() {
      chosen ??= choose()
      return chosen
    },
    async tools(sessionId) {
      workshop ??= open()
      return frozenTools(sessionId, (await workshop).tools)
    },
    toolContext({ sessionId, id: turnId, lines }, call, signal) {
      return contextIn({ sessionId, turnId }, () => lines.map((line) => line.message), call, signal)
    },
    openPlace: (sessionId, turnId) => ({
      contextFor: (call, signal) => contextIn({ sessionId, turnId }, () => [], call, signal),
      close: () => resources.end(sessionId),
    }),
    cwd,
    describe: () => ({ model: settings().model, provider: providerName(providerSettings()) }),
    reconfigured() {
      chosen = undefined
      workshop = undefined
    },
    toolsChanged() {
      workshop = undefined
    },
    close: resources.close,
  }
}
