/**
 * Joins what takes part in a conversation: the model and its tools, prompts, files, summaries, plugins. Out of them comes
 * what works through the turns of a session.
 */
import { createAgent } from '../agent/agent.ts'
import { toOpenAiHistory } from '../agent/loop/openai-history.ts'
import { type AgentServices, createAgentServices } from '../flows/agent-services.ts'
import { createSessionCompression, type SessionCompression } from '../flows/session-compression.ts'
import { createPromptFreezer } from '../flows/session-prompt.ts'
import { createTurnJournal, type Turn } from '../flows/turn/journal.ts'
import { recordEventFailure } from '../inbox/queries.ts'
import { messageOf } from '../lib/errors.ts'
import { systemRandom } from '../lib/ids.ts'
import { createRedactor } from '../lib/redact.ts'
import { sleep } from '../lib/timers.ts'
import { createAttachmentDownloader } from '../media/attachment-downloader.ts'
import type { SessionKey } from '../message/ids.ts'
import { GuardrailRejected } from '../middleware/guardrail-rejected.ts'
import { findSessionSource } from '../sessions/session-source.ts'
import { createTurnRunner } from '../turn.ts'
import type { Core } from './compose-core.ts'
import { createPluginManager, type PluginManager } from './compose-plugins.ts'
import type { AppContext } from './context.ts'

export interface AgentRuntime extends Pick<SessionCompression, 'compressSession'> {
  /** Works through the turns of one session. */
  runTurn(key: SessionKey, signal: AbortSignal): Promise<void>
  readonly agentServices: AgentServices
  readonly plugins: PluginManager
}

export function composeAgent(context: AppContext, core: Core): AgentRuntime {
  const {
    options,
    config,
    settings,
    accountDirectory,
    platforms,
    store,
    phase,
    redact,
    stopping,
    clock,
    random,
    log,
    failpoint,
  } = context
  const { home } = options
  const {
    engine,
    outbox,
    turnResults,
    runningTurns,
    inbox,
    sessionServices,
    questions,
    approveTool,
    pluginRegistries,
    turnInfoOf,
    emit,
  } = core
  const { middleware } = pluginRegistries
  const emitsEvents = (turn: Turn) => accountDirectory.emitsEvents(turn.event.source)

  const agentServices = createAgentServices({
    home,
    log,
    settings,
    environment: config.environment,
    commandLine: options.commandLine,
    pluginTools: () => plugins.tools(),
    // Short ones are words of everyday text too, and a file somebody edits must come through as it is.
    redact: createRedactor({
      secrets: () => context.secrets.all().filter((secret) => secret.length >= 12),
      knownOnly: true,
    }),
    withheld: context.catalogue.platforms.flatMap((platform) => platform.environment.map(({ variable }) => variable)),
  })
  const compression = createSessionCompression({
    store,
    engine,
    middleware,
    turnInfoOf,
    clock,
    random,
    sleep,
    log,
    emit,
    settings,
    emitsEvents,
    async insights({ sessionId, event: { source, task } }, messages) {
      const { platform, userId = '' } = source
      // As everywhere: what runs in the background is nobody's memory.
      return task === undefined
        ? await pluginRegistries.memory.beforeCompression(toOpenAiHistory(messages), { sessionId, platform, userId })
        : ''
    },
    failpoint,
  })
  const media = createAttachmentDownloader({
    folder: home.media,
    clock,
    sleep,
    log,
    maxBytes: () => settings().media.max_mb * 1_048_576,
    adapter: platforms.adapter,
    randomSuffix: () => Buffer.from(systemRandom(4)).toString('hex'),
    redact,
  })
  /** What every managed call goes through, in a turn or asked for by a plugin. */
  const managed = {
    middleware,
    agentHooks: pluginRegistries.agentHooks,
    approve: approveTool,
    rejectionReason: (error: unknown) => (error instanceof GuardrailRejected ? error.reason : null),
    clock,
    log,
    random,
    sleep,
    settings,
    failpoint,
  }
  const agent = createAgent(managed)
  const runTurn = createTurnRunner({
    journal: createTurnJournal({
      store,
      clock,
      isShared: ({ source }) => accountDirectory.isShared(source),
      routeOf: core.routeOf,
    }),
    agent,
    turnInfoOf,
    describeErrorOrigin: middleware.errorOrigin,
    outbox,
    turnResults,
    running: runningTurns,
    emit,
    log,
    random,
    sleep,
    failpoint,
    isDraining: () => phase() === 'draining',
    model: agentServices.model,
    tools: agentServices.tools,
    compression,
    toolContext: agentServices.toolContext,
    openSubagentWorkspace: agentServices.openSubagentWorkspace,
    emitsEvents,
    publishActivity(target, activity) {
      try {
        platforms.adapter(target)?.activity?.(target, activity)
      } catch (error) {
        log.warn({ platform: target.platform, error }, `an adapter could not show what happens: ${messageOf(error)}`)
      }
    },
    fetchAttachments: (event, name, signal) => media.fetchAttachments(event, name, AbortSignal.any([signal, stopping])),
    withdraw: sessionServices.stopEvent,
    onTurnEnded: (key) => void questions.turnEnded(key),
    recordFailure: (seq, reason) => store.run(() => recordEventFailure(seq, reason)),
    freezePrompt: createPromptFreezer({
      home,
      store,
      config,
      accountDirectory,
      agentServices,
      log,
      clock,
      sendsFiles: (target) => platforms.adapter(target)?.sendsAttachments === true,
      plugins: pluginRegistries,
    }),
  })
  const plugins = createPluginManager({
    ...managed,
    ...pluginRegistries,
    home,
    config,
    commands: core.commands,
    agents: agentServices,
    inbox,
    maxRetries: () => settings().agent.max_retries,
    async lastAuthorizedSource(key) {
      const source = await store.run(() => findSessionSource(key))
      return source !== undefined && accountDirectory.access({ source }).allowed ? source : undefined
    },
    embeddedSessionKey: core.embeddedSessionKey,
    currentTurn: agent.currentTurn,
    toolsChanged: agentServices.toolsChanged,
    onPluginCall: options.onPluginCall,
    runAsPlugin: options.runAsPlugin,
    stopping,
  })

  return { runTurn, compressSession: compression.compressSession, agentServices, plugins }
}
