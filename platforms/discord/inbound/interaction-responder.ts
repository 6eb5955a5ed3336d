/**
 * Responds to interactions within the three seconds that Discord allows. Only the user who chose the command or pressed the
 * button sees the response. The reply of the agent is a message of its own.
 */
import { type Logger, messageOf, type PlatformContext, withTimeout } from '#sdk'
import type { Api } from '../connection/api.ts'
import { codeOf, describeError } from '../errors.ts'
import { callbackTypes, ephemeralMessage, type Interaction } from './interactions.ts'
import type { JsonRecord } from './payload.ts'

/** Responses to a user that do not depend on the interaction. */
export const fixedReplies = {
  ignoredChannel: 'The bot does not respond in this channel.',
  notStored: 'This could not be processed. Please try again in a moment.',
} as const

export interface InteractionResponderDeps {
  readonly api: Pick<Api, 'callback' | 'finishCallback'>
  readonly accept: PlatformContext['accept']
  readonly press: PlatformContext['questions']['press']
  readonly applicationId: () => string | undefined
  readonly signal: AbortSignal
  readonly log: Logger
  /** Discord waits three seconds; a response that takes longer than this is deferred first. */
  readonly deferAfterMs?: number | undefined
}

/** Too late (10062) or already responded to (40060): another attempt cannot succeed. */
const ignoredErrorCodes: ReadonlySet<number | undefined> = new Set([10062, 40060])

export type InteractionResponder = (interaction: Interaction) => Promise<void>

export function createInteractionResponder(deps: InteractionResponderDeps): InteractionResponder {
  const { api, signal, log, deferAfterMs = 1_500 } = deps

  /** Never rejects. */
  return async (interaction) => {
    try {
      await respond(interaction, handle(interaction))
    } catch (error) {
      if (signal.aborted) return
      if (ignoredErrorCodes.has(codeOf(error)))
        log.debug({ event: 'discord.interaction_expired', reason: describeError(error) }, 'interaction has expired')
      else
        log.warn({ event: 'discord.interaction_failed', reason: describeError(error) }, 'interaction got no response')
    }
  }

  async function respond({ id, token }: Interaction, replyText: Promise<string>): Promise<void> {
    const early = await withTimeout(replyText, deferAfterMs)
    if (early.done)
      return void (await api.callback(id, token, callbackBody(callbackTypes.message, early.value), signal))
    await api.callback(id, token, { type: callbackTypes.laterMessage, data: { flags: 64 } }, signal)
    const content = await replyText
    await api.finishCallback(deps.applicationId() ?? '', token, { content, allowed_mentions: { parse: [] } }, signal)
  }

  /** Returns the text for the user. Never rejects. */
  async function handle(interaction: Interaction): Promise<string> {
    try {
      switch (interaction.kind) {
        case 'unwanted':
          return fixedReplies.ignoredChannel
        case 'press':
          return (await deps.press(interaction.press)).text
        case 'command': {
          const { event, keys, line } = interaction
          const accepted = await deps.accept(event, keys)
          if (accepted.status === 'refused') return `You may not talk to this bot: ${accepted.reason}.`
          return `On it: \`${line.replaceAll('`', "'").slice(0, 200)}\``
        }
      }
    } catch (error) {
      log.warn({ event: 'discord.interaction_not_stored', reason: messageOf(error) }, 'interaction could not be stored')
      return fixedReplies.notStored
    }
  }
}

function callbackBody(type: number, text: string): JsonRecord {
  return { type, data: ephemeralMessage(text === '' ? '…' : text) }
}
