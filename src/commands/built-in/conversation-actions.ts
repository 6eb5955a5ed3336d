/**
 * What the commands for conversations do and reply.
 */

import { formatCost } from '../../lib/format-cost.ts'
import { toShortLine } from '../../lib/redact.ts'
import { toMarkdownLabel } from '../../message/untrusted-text.ts'
import type { TransactionPart } from '../../store/query.ts'
import type { CommandContext } from '../command.ts'
import type { ConversationEntry, ConversationServices, Insights, RetryResult, UndoResult } from '../conversation.ts'
import { toTitle } from './title.ts'

type Reply = Promise<string | TransactionPart<string>>

export async function title({ sessionKey, source, args }: CommandContext, conversations: ConversationServices): Reply {
  const name = toTitle(conversations.withhold(args))
  if (name === '') {
    const { title: current } = await conversations.status(sessionKey)
    return current === ''
      ? 'This conversation has no name. `/title <name>` gives it one.'
      : `This conversation is called **${current}**.`
  }
  await conversations.rename(sessionKey, source, name)
  return `This conversation is called **${name}** now.`
}

const maxShown = 20
const maxLabelChars = 80

export async function sessions(context: CommandContext, conversations: ConversationServices): Reply {
  const { title: current, sessionId } = await conversations.status(context.sessionKey)
  const entries = await conversations.list(context, maxShown)
  const labelOf = labelsFor(conversations)
  if (entries.length === 0) return 'There are no earlier conversations here. `/new` starts another one.'
  const here = sessionId === null ? [] : [`**Now** ${current === '' ? 'without a name' : current} (\`${sessionId}\`)`]
  const lines = entries.map((entry, index) => `${index + 1}. ${labelOf(entry)} · ${formatDay(entry.at)}`)
  return [...here, `**Earlier conversations**\n\n${lines.join('\n')}`, '`/resume <number>` continues one.'].join('\n\n')
}

export async function resume(context: CommandContext, conversations: ConversationServices): Reply {
  const wanted = context.args.trim()
  if (wanted === '') return sessions(context, conversations)
  const named = await conversations.list(context, 1, wanted)
  const matches =
    named.length > 0 ? named : findConversation(await conversations.list(context, Number.POSITIVE_INFINITY), wanted)
  if (matches.length === 0) return 'There is no such conversation here. `/sessions` lists those that you can continue.'
  const [entry, ...others] = matches
  const labelOf = labelsFor(conversations)
  if (entry === undefined || others.length > 0) {
    const choices = matches
      .slice(0, maxShown)
      .map((entry) => `- \`${entry.id}\` ${labelOf(entry)} · ${formatDay(entry.at)}`)
    return `Several conversations match. Use the id of one:\n\n${choices.join('\n')}`
  }
  return conversations.open(context, entry, (result) =>
    result.kind === 'in-use'
      ? `Another chat is in the conversation **${labelOf(entry)}** now. Write there, or start another conversation there first.`
      : `Continues: **${labelOf(entry)}** (${result.messages} messages).${result.last === '' ? '' : ` The last one:\n\n> ${excerpt(conversations, result.last, 300)}`}`,
  )
}

/** By number of the list, whole name, or a part of the name; several entries when the words are ambiguous. */
function findConversation(entries: readonly ConversationEntry[], wanted: string): readonly ConversationEntry[] {
  const number = /^\d+$/.test(wanted) ? Number(wanted) : 0
  const numbered = number > 0 && number <= maxShown ? entries[number - 1] : undefined
  if (numbered !== undefined) return [numbered]
  const words = wanted.toLowerCase()
  const same = entries.filter(({ label }) => label.toLowerCase() === words)
  return same.length > 0 ? same : entries.filter(({ label }) => label.toLowerCase().includes(words))
}

export async function retry(context: CommandContext, conversations: ConversationServices): Reply {
  return conversations.retry(context, ({ kind }) => retryTexts[kind])
}

const retryTexts: Readonly<Record<RetryResult['kind'], string>> = {
  again: '🔁 Once more.',
  nothing: 'There is nothing to answer again.',
  summarised: 'The last message is part of a summary now, so I cannot answer it again. Send it once more.',
  'unknown-author':
    'I do not know any more who wrote the last message, so I cannot answer it again. Send it once more.',
  'not-yours': 'Another person wrote the last message. Only its author can have it answered again.',
  queued: 'Other messages wait for an answer. Use `/retry` when they are answered.',
}

const maxUndo = 100

export async function undo(context: CommandContext, conversations: ConversationServices): Reply {
  const args = context.args.trim()
  const count = args === '' ? 1 : Number(args)
  if (!Number.isInteger(count) || count < 1 || count > maxUndo)
    return `Write \`/undo\`, or \`/undo <number>\` with a number from 1 to ${maxUndo}.`
  return conversations.undo(context, count, (result) => undoText(conversations, result, count))
}

function undoText(
  conversations: ConversationServices,
  { count, text, usedTools, reachesSummary, others, keptOf }: UndoResult,
  requested: number,
): string {
  const limit = reachesSummary ? ' What was said before is summarised, and a summary cannot be taken back.' : ''
  const heading =
    keptOf === undefined
      ? ''
      : ` The message before is from ${authorName(keptOf)}. Only its author or an owner can take it back.`
  if (count === 0 && keptOf !== undefined)
    return `The last message is from ${authorName(keptOf)}. Only its author or an owner can take it back.`
  if (count === 0) return reachesSummary ? `I can take nothing back.${limit}` : 'There is nothing to take back.'
  const whose = others.length === 0 ? 'your last' : 'the last'
  const of = others.length === 0 ? '' : `${count === 1 ? ' of' : ', also of'} ${others.map(authorName).join(' and ')},`
  const what =
    count === 1 ? `${whose} message${of} and its answer` : `${whose} ${count} messages${of} and their answers`
  const fewer = count < requested && !reachesSummary && heading === '' ? ' That was everything.' : `${limit}${heading}`
  const effects = usedTools ? ' What I did with tools meanwhile stays done.' : ''
  return `↩️ Took back ${what}, from “${excerpt(conversations, text, 100)}” on.${fewer}${effects}`
}

function authorName(name: string): string {
  return name === '' ? 'an unknown person' : `**${toMarkdownLabel(name)}**`
}

export async function branch(context: CommandContext, conversations: ConversationServices): Reply {
  const name = toTitle(conversations.withhold(context.args))
  return conversations.branch(context, name, (result) =>
    result.kind === 'nothing'
      ? 'There is nothing to copy: we have not said anything yet.'
      : `🌿 This is a copy of our conversation${name === '' ? '' : ` called **${name}**`} now. The original stays as it is; \`/resume\` returns to it.`,
  )
}

export async function usage({ sessionKey, source }: CommandContext, conversations: ConversationServices): Reply {
  const used = await conversations.usage(sessionKey)
  if (used === undefined) return 'This conversation has not begun yet. Write to me first.'
  const { inputTokens, outputTokens, spent, lastTurn, messages, contextTokens, cachedTokens, startedAt } = used
  const contextLength = await conversations.contextLength({ sessionKey, source })
  const share = contextTokens === undefined ? 0 : Math.round((contextTokens / contextLength) * 100)
  const lines = [
    `**Tokens** ${count(inputTokens)} in, ${count(outputTokens)} out`,
    `**Cost** ${formatCost(spent)}`,
    ...(lastTurn === undefined
      ? []
      : [`**Last answer** ${count(lastTurn.tokens)} tokens, cost ${formatCost(lastTurn)}`]),
    ...(contextTokens === undefined
      ? []
      : [
          `**Context** ${count(contextTokens)} of ${count(contextLength)} (${share} %)`,
          `**From the cache** ${count(cachedTokens)} in the latest request`,
        ]),
    `**Messages** ${messages} · since ${formatDay(startedAt)}`,
  ]
  return lines.join('  \n')
}

const defaultDays = 7
const maxDays = 365

export async function insights(context: CommandContext, conversations: ConversationServices): Reply {
  const args = context.args.trim().replace(/^days[=:]/, '')
  const days = args === '' ? defaultDays : Number(args)
  if (!Number.isInteger(days) || days < 1 || days > maxDays)
    return `Write \`/insights\`, or \`/insights <days>\` with a number from 1 to ${maxDays}.`
  const insights = await conversations.insights(context, days)
  if (insights.messages === 0) return `Nothing was said in the last ${days} days.`
  const whose = insights.isWholeGateway ? 'all conversations of this gateway' : 'your conversations here'
  const lines = [
    `**Last ${days} days**, ${whose}`,
    `**Conversations** ${insights.sessions} · **messages** ${insights.messages}`,
    `**Tokens** ${count(insights.inputTokens)} in, ${count(insights.outputTokens)} out`,
    `**Cost** ${formatCost({ ...insights, tokens: insights.inputTokens + insights.outputTokens })}`,
    ...(insights.models.length === 0 ? [] : [`**Models** ${insights.models.map(modelLine).join(', ')}`]),
    ...(insights.tools.length === 0
      ? []
      : [`**Tools** ${insights.tools.map(({ name, calls }) => `${name} ${calls}×`).join(', ')}`]),
  ]
  const perDay = insights.days.slice(-14).map(({ day, sessions: open, ...spent }) => {
    const cost = formatCost(spent)
    return `- ${day}: ${open} ${open === 1 ? 'conversation' : 'conversations'}, ${count(spent.tokens)} tokens${cost === 'unknown' ? '' : `, ${cost}`}`
  })
  return `${lines.join('  \n')}\n\n${perDay.join('\n')}`
}

function modelLine({ model, ...spent }: Insights['models'][number]): string {
  return `${toMarkdownLabel(model)} ${count(spent.tokens)} tokens (${formatCost(spent)})`
}

function labelsFor(conversations: ConversationServices): (entry: ConversationEntry) => string {
  return ({ label }) => excerpt(conversations, label, maxLabelChars)
}

/** One line of bounded length, without characters that change how the rest is read. */
function excerpt({ withhold }: ConversationServices, text: string, maxChars: number): string {
  return toShortLine(text, maxChars, withhold).replace(/[`*_~|[\]]/g, '')
}

/** `2026-11-23 14:05` in local time. */
function formatDay(at: number): string {
  const date = new Date(at)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`
}

function count(tokens: number): string {
  return tokens.toLocaleString('en')
}
