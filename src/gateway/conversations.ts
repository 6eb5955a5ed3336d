/**
 * Joins what takes part in a conversation: the model and its tools, prompts, files, summaries, plugins. Out of them comes
 * what works through the turns of a session.
 */
import { createAgent } from '../agent/conversation.ts'
import { historyOf } from '../agent/history.ts'
import { noteEventFailure } from '../inbox/queries.ts'
import { messageOf } from '../lib/errors.ts'
import { systemRandom } from '../lib/ids.ts'
import { createRedactor } from '../lib/redact.ts'
import { pause } from '../lib/wait.ts'
import { createMedia } from '../media/media.ts'
import type { SessionKey } from '../message/ids.ts'
import { GuardrailRejected } from '../middleware/rejected.ts'
import { sourceOfLane } from '../sessions/lane-source.ts'
import { createTurnJournal, type Turn } from '../turn/journal.ts'
import { createTurnRunner } from '../turn.ts'
import { type AgentServices, createAgentServices } from './agent-services.ts'
import { createGatewayPlugins, type GatewayPlugins } from './plugins.ts'
import type { Rooms } from './rooms.ts'
import { createSessionCompression, type SessionCompression } from './session-compression.ts'
import { createPromptFreezer } from './session-prompt.ts'
import type { Shared } from './shared.ts'

export interface Conversations extends Pick<SessionCompression, 'compressSession'> {
  /** Works through the turns of one session. */
  runTurn(key: SessionKey, signal: AbortSignal): Promise<void>
  readonly agents: AgentServices
  readonly plugins: GatewayPlugins
}

export function createConversations(shared: Shared, rooms: Rooms): Conversations {
  const { options, config, settings, people, platforms, store, phase, redact, ended, clock, random, log, probe } =
    shared
  const { home } = options
  const { engine, outbox, outcomes, running, inbox, sessions, questions, approve, pluginGround, factsOf, emit } = rooms
  const { middleware } = pluginGround
  const watched = (turn: Turn) => people.watched(turn.event.source)

  const agents = createAgentServices({
    home,
    log,
    settings,
    environment: config.environment,
    program: options.program,
    pluginTools: () => plugins.tools(),
    // Short ones are words of everyday text too, and a file somebody edits must come through as it is.
    redact: createRedactor({
      secrets: () => shared.secrets.all().filter((secret) => secret.length >= 12),
      knownOnly: true,
    }),
    withheld: shared.catalogue.platforms.flatMap((platform) => platform.environment.map(({ variable }) => variable)),
  })
  const compression = createSessionCompression({
    store,
    engine,
    middleware,
    factsOf,
    clock,
    random,
    pause,
    log,
    emit,
    settings,
    watched,
    async insights({ sessionId, event: { source, task } }, messages) {
      const { platform, userId = '' } = source
      // As everywhere: what runs in the background is nobody's memory.
      return task === undefined
        ? await pluginGround.memory.beforeCompression(historyOf(messages), { sessionId, platform, userId })
        : ''
    },
    probe,
  })
  const media = createMedia({
    folder: home.media,
    clock,
    pause,
    log,
    maxBytes: () => settings().media.max_mb * 1_048_576,
    adapter: platforms.adapter,
    mark: () => Buffer.from(systemRandom(4)).toString('hex'),
    redact,
  })
  /** What every managed call goes through, in a turn or asked for by a plugin. */
  const managed = {
    middleware,
    points: pluginGround.points,
    approve,
    refusal: (error: unknown) => (error instanceof GuardrailRejected ? error.reason : null),
    clock,
    log,
    random,
    pause,
    settings,
    probe,
  }
  const agent = createAgent(managed)
  const runTurn = createTurnRunner({
    journal: createTurnJournal({
      store,
      clock,
      isShared: ({ source }) => people.isShared(source),
      routeOf: rooms.routeOf,
    }),
    agent,
    factsOf,
    culprit: middleware.culprit,
    outbox,
    outcomes,
    running,
    emit,
    log,
    random,
    pause,
    probe,
    draining: () => phase() === 'draining',
    model: agents.model,
    tools: agents.tools,
    compression,
    toolContext: agents.toolContext,
    openPlace: agents.openPlace,
    watched,
    activity(target, activity) {
      try {
        platforms.adapter(target)?.activity?.(target, activity)
      } catch (error) {
        log.warn({ platform: target.platform, error }, `an adapter could not show what happens: ${messageOf(error)}`)
      }
    },
    fetchAttachments: (event, name, signal) => media.fetchAttachments(event, name, AbortSignal.any([signal, ended])),
    withdraw: sessions.stopEvent,
    turnEnded: (key) => void questions.turnEnded(key),
    noteFailure: (seq, reason) => store.run(() => noteEventFailure(seq, reason)),
    freezePrompt: createPromptFreezer({
      home,
      store,
      config,
      people,
      agents,
      log,
      clock,
      sendsFiles: (target) => platforms.adapter(target)?.sendsAttachments === true,
      plugins: pluginGround,
    }),
  })
  const plugins = createGatewayPlugins({
    ...managed,
    ...pluginGround,
    home,
    config,
    commands: rooms.commands,
    agents,
    inbox,
    maxRetries: () => settings().agent.max_retries,
    async writerIn(key) {
      const source = await store.run(() => sourceOfLane(key))
      return source !== undefined && people.access({ source }).allowed ? source : undefined
    },
    ownSession: rooms.ownSession,
    currentTurn: agent.currentTurn,
    toolsChanged: agents.toolsChanged,
    onPluginCall: options.onPluginCall,
    inPlugin: options.inPlugin,
    ended,
  })

  return { runTurn, compressSession: compression.compressSession, agents, plugins }
}
