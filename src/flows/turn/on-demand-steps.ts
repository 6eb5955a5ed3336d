/**
 * Parts of a turn whose code is loaded with the first turn that needs it: another model, the voice of an answer, the title of a
 * conversation.
 */
import type { AgentConfig } from '../../agent/config.ts'
import { lazy } from '../../lib/lazy.ts'
import type { Logger } from '../../lib/log.ts'
import { createLruCache } from '../../lib/lru-cache.ts'
import type { MediaToolsConfig } from '../../media/config.ts'
import { hasWaitingUser } from '../../message/event.ts'
import { type Target, targetOf } from '../../message/source.ts'
import type { PlatformAdapter } from '../../platforms/adapter.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { AgentModels } from '../models/agent-models.ts'
import type { SessionTitlesDeps } from '../sessions/session-titles.ts'
import type { TurnAftermath } from './attempt.ts'
import type { SpeakDeps } from './speak.ts'
import type { TurnModels } from './steps.ts'
import type { TurnNotices } from './turn-notices.ts'

export interface TurnModelsDeps {
  readonly models: Pick<AgentModels, 'fallback'>
  readonly prompt: Pick<TurnModels, 'senderOf'>
  readonly notices: Pick<TurnNotices, 'fellBack'>
  readonly settings: () => Pick<AgentConfig, 'fallback_providers'>
  readonly log: Logger
}

export function createTurnModels({ models, prompt, notices, settings, log }: TurnModelsDeps): TurnModels {
  return {
    senderOf: prompt.senderOf,
    async fallback(turn, failed, failure) {
      if (settings().fallback_providers.length === 0) return null
      const { fallBack } = await import('./fall-back.ts')
      return await fallBack({ models, notices, log }, turn, failed, failure)
    },
  }
}

export interface TurnVoiceDeps extends SpeakDeps {
  readonly settings: () => Pick<MediaToolsConfig, 'voice' | 'tts'>
  /** The adapter of a connected account. */
  adapter(target: Target): Pick<PlatformAdapter, 'sendsAttachments'> | undefined
}

/** Sends the voice of an answer whose text is stored, where the person wants to hear it. Never rejects. */
export function createVoice(deps: TurnVoiceDeps): TurnAftermath {
  const { settings, adapter } = deps
  return {
    name: 'voice',
    async run({ turn, running, progress }, { state, notice, text }) {
      const isAnswer = state === 'done' && !notice && text.trim() !== '' && turn.event.task === undefined
      if (!isAnswer || progress.hasSpoken() || !isSpokenTo(settings().voice, turn)) return
      if (adapter(targetOf(turn.event.source))?.sendsAttachments !== true) return
      const { speakAnswer } = await import('./speak.ts')
      await speakAnswer(deps, turn, text, running.signal)
    },
  }
}

/** Whether the person wants to hear the answer (contract §3.8). */
function isSpokenTo({ auto_tts: isDefault }: MediaToolsConfig['voice'], { event, settings }: Turn): boolean {
  const { voice: chosen } = settings
  if (chosen === 'tts' || chosen === 'off') return chosen === 'tts'
  const isVoice = event.attachments?.some(({ kind, quoted }) => kind === 'voice' && quoted !== true) === true
  return isVoice && (chosen === 'on' || isDefault)
}

export interface TurnTitles {
  readonly title: TurnAftermath
  /** Resolves when no title is being asked for. */
  idle(): Promise<void>
}

const maxTitledSessions = 1_000

/** @param isOffered false in a process that does not wait for titles */
export function createTitles(deps: SessionTitlesDeps, isOffered: boolean): TurnTitles {
  const { settings, log } = deps
  /** The sessions of which no later answer matters. */
  const titled = createLruCache<true>(maxTitledSessions)
  let isLoaded = false
  const load = lazy(async () => {
    isLoaded = true
    return (await import('../sessions/session-titles.ts')).createSessionTitles(deps)
  })
  return {
    title: {
      name: 'title',
      run({ turn }, { state, text }) {
        const { event, sessionId } = turn
        if (state !== 'done' || text === '' || titled.has(sessionId)) return
        const isEnabled = isOffered && settings().auxiliary.title_generation.enabled
        if (isEnabled && (event.task !== undefined || event.internal === true || !hasWaitingUser(event))) return
        titled.set(sessionId, true)
        if (!isEnabled) return
        load().then(
          (titles) => titles.add(turn, text),
          (error: unknown) => log.error({ event: 'session.titles_not_loaded', err: error }, 'titles cannot be given'),
        )
      },
    },
    async idle() {
      if (isLoaded) await (await load()).idle()
    },
  }
}
