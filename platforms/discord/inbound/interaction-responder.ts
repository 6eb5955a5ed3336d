/**
 * Responds to interactions within the three seconds that Discord allows. Only the user who chose the command or pressed the
 * button sees the response. The reply of the agent is a message of its own.
 */
import { messageOf, withTimeout } from '#sdk'
import type { DiscordAccount } from '../account.ts'
import { codeOf, describeError } from '../errors.ts'
import { callbackTypes, ephemeralMessage, type Interaction } from './interactions.ts'
import type { JsonRecord } from './payload.ts'

/** Responses to a user that do not depend on the interaction. */
export const fixedReplies = {
  ignoredChannel: 'The bot does not respond in this channel.',
  notStored: 'This could not be processed. Please try again in a moment.',
} as const

/** Too late (10062) or already responded to (40060): another attempt cannot succeed. */
const ignoredErrorCodes: ReadonlySet<number | undefined> = new Set([10062, 40060])

export type InteractionResponder = (interaction: Interaction) => Promise<void>

/** @param deferAfterMs Discord waits three seconds; a response that takes longer than this is deferred first */
export function createInteractionResponder(
  { api, context, guildCache, stopping }: DiscordAccount,
  deferAfterMs = 1_500,
): InteractionResponder {
  const { accept, questions, log } = context
  const { signal } = stopping

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
    const application = guildCache.botUser()?.applicationId ?? ''
    await api.finishCallback(application, token, { content, allowed_mentions: { parse: [] } }, signal)
  }

  /** Returns the text for the user. Never rejects. */
  async function handle(interaction: Interaction): Promise<string> {
    try {
      switch (interaction.kind) {
        case 'unwanted':
          return fixedReplies.ignoredChannel
        case 'press':
          return (await questions.press(interaction.press)).text
        case 'command': {
          const { event, keys, line } = interaction
          const accepted = await accept(event, keys)
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
