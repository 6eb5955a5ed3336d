/**
 * The built-in commands that show information: `/start`, `/help`, `/commands`, `/status`, `/version`, `/whoami`,
 * `/update` and `/debug`.
 */
import { formatDuration } from '../../lib/duration.ts'
import { formatCost } from '../../lib/format-cost.ts'
import type { Target } from '../../message/source.ts'
import { toMarkdownLabel } from '../../message/untrusted-text.ts'
import type { CommandDefinition, GatewayStatus } from '../command.ts'

const pageSize = 20

export const startCommand: CommandDefinition = {
  name: 'start',
  aliases: [],
  description: 'Show what I am',
  argsHint: '',
  queue: 'control',
  async run({ source, sessionKey }, services) {
    const { model } = await services.modelOf({ source, sessionKey })
    const name = source.userName === undefined ? '' : `, ${toMarkdownLabel(source.userName)}`
    const agent = model === '' ? 'an AI agent' : `an AI agent that uses the model ${model}`
    return `👋 Hello${name}! I am Hermes, ${agent}. Ask me a question or give me a task in plain words.\n\n\`/help\` lists my commands, \`/stop\` stops what I am doing, and \`/new\` starts a fresh conversation.`
  },
}

export const helpCommand: CommandDefinition = {
  name: 'help',
  aliases: [],
  description: 'Show what I understand',
  argsHint: '',
  queue: 'control',
  async run(_context, services) {
    return `Write to me in plain words, or use a command:\n\n${services.commands().map(formatCommand).join('\n')}`
  },
}

export const commandsCommand: CommandDefinition = {
  name: 'commands',
  aliases: [],
  description: 'List all commands',
  argsHint: '[page]',
  queue: 'control',
  async run({ args }, services) {
    const all = [...services.commands(), ...(await services.skillCommands())]
    const pages = Math.max(1, Math.ceil(all.length / pageSize))
    const page = Math.min(pages, Math.max(1, Number.parseInt(args, 10) || 1))
    const lines = all.slice((page - 1) * pageSize, page * pageSize).map(formatCommand)
    const more = page < pages ? `\n\n\`/commands ${page + 1}\` shows the next page.` : ''
    return `**Commands** (page ${page} of ${pages})\n\n${lines.join('\n')}${more}`
  },
}

type ListedCommand = Pick<CommandDefinition, 'name' | 'aliases' | 'argsHint' | 'description'>

function formatCommand({ name, aliases, argsHint, description }: ListedCommand): string {
  const also = aliases.length === 0 ? '' : ` (also ${aliases.map((alias) => `/${alias}`).join(', ')})`
  return `- \`/${name}${argsHint === '' ? '' : ` ${argsHint}`}\` — ${description}${also}`
}

export const statusCommand: CommandDefinition = {
  name: 'status',
  aliases: [],
  description: 'Show this conversation and the gateway',
  argsHint: '',
  queue: 'control',
  async run({ sessionKey, source, authority }, services) {
    const session = await services.sessionStatus(sessionKey)
    const waiting = await services.pendingQuestion(sessionKey)
    const yolo = session.sessionId !== null && (await services.isYolo(session.sessionId))
    const gateway = services.gatewayStatus()
    const { model, provider } = await services.modelOf({ sessionKey, source })
    const platforms = Object.entries(gateway.platforms).map(
      ([name, health]) => `${name} (${formatPlatformState(health)})`,
    )
    // Others in a group need not learn where the messages of the owner go, and what keys there are.
    const seesAll = authority.role === 'owner' && source.chatType === 'dm'
    const homes = seesAll ? await services.homeChannels() : []
    const keys = seesAll ? await services.modelKeys() : []
    const lines = [
      `**Session** \`${session.sessionId ?? 'not begun'}\`${session.title === '' ? '' : ` · ${session.title}`}`,
      `**State** ${session.running ? 'working' : 'idle'}${session.queued > 0 ? `, ${session.queued} waiting` : ''}`,
      ...(waiting === undefined ? [] : [`**Waits for your answer** ${firstLine(services.withhold(waiting.text))}`]),
      ...(yolo ? ['⚠️ **Runs commands of owners without asking** (`/yolo` ends it)'] : []),
      `**Messages** ${session.messages} · **tokens** ${session.inputTokens} in, ${session.outputTokens} out · **cost** ${formatCost(session.spent)}`,
      `**Model** ${model === '' ? provider : `${model} (${provider})`}`,
      ...(keys.length === 0 ? [] : [`**Keys** ${keys.join(' · ')}`]),
      `**Platforms** ${platforms.length === 0 ? 'none' : platforms.join(', ')} · **up** ${formatDuration(gateway.uptimeMs)}`,
      ...(homes.length === 0 ? [] : [`**Home channels** ${homes.map(formatHome).join(', ')}`]),
      ...(gateway.background.length === 0
        ? []
        : [`**Background** ${gateway.background.map(({ id, by }) => `${by} (\`${id}\`)`).join(', ')}`]),
      ...gateway.degraded.map((reason) => `⚠️ ${reason}`),
    ]
    return lines.join('  \n')
  },
}

function formatHome({ target, name }: { readonly target: Target; readonly name?: string }): string {
  const { platform, account, chatId } = target
  const where = account === 'default' ? platform : `${platform}/${account}`
  return `${where} (${name === undefined ? `\`${chatId}\`` : toMarkdownLabel(name)})`
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}

/** Only platforms that report received messages have `receiving`. */
function formatPlatformState({ state, receiving }: GatewayStatus['platforms'][string]): string {
  if (state !== 'connected' || receiving === undefined) return state
  return `${state}, ${receiving ? 'receiving' : 'not receiving'}`
}

export const versionCommand: CommandDefinition = {
  name: 'version',
  aliases: ['v'],
  description: 'Show the version',
  argsHint: '',
  queue: 'control',
  async run(_context, services) {
    return `hermes-gateway ${services.version}`
  },
}

export const whoamiCommand: CommandDefinition = {
  name: 'whoami',
  aliases: [],
  description: 'Show who I think you are',
  argsHint: '',
  queue: 'control',
  async run({ source, authority, sessionKey }, services) {
    const { role, tools, commands } = await services.permissionsOf(authority, source)
    const lines = [
      `**You** ${toMarkdownLabel(source.userName ?? 'no name')} · id \`${source.userId ?? 'unknown'}\``,
      `**Where** ${source.platform}, ${source.chatType} \`${source.chatId}\`${source.threadId === undefined ? '' : `, thread \`${source.threadId}\``}`,
      `**Session key** \`${sessionKey}\``,
      `**Access** ${services.accessReason(source)}`,
      `**Role** ${role}`,
      `**Tools** ${formatToolList(tools)}`,
      `**Commands** ${commands.includes('*') ? 'all' : commands.map((name) => `\`/${name}\``).join(', ')}${role === 'owner' ? '' : ', except those for owners'}`,
    ]
    return lines.join('  \n')
  },
}

/** `all except terminal, file` */
function formatToolList(list: readonly string[]): string {
  const names = (entries: readonly string[]) => entries.map((name) => `\`${name}\``).join(', ')
  const denied = list.filter((entry) => entry.startsWith('-')).map((entry) => entry.slice(1))
  const allowed = list.filter((entry) => !entry.startsWith('-') && entry !== '*')
  if (!list.includes('*')) return allowed.length === 0 ? 'none' : names(allowed)
  return denied.length === 0 ? 'all' : `all except ${names(denied)}`
}

export const updateCommand: CommandDefinition = {
  name: 'update',
  aliases: [],
  description: 'Show how to update me',
  argsHint: '',
  queue: 'control',
  minimumRole: 'owner',
  run: async (context, services) => (await import('./operator-actions.ts')).update(context, services),
}

export const debugCommand: CommandDefinition = {
  name: 'debug',
  aliases: [],
  description: 'Show what a report of a problem needs',
  argsHint: '',
  queue: 'control',
  minimumRole: 'owner',
  run: async (context, services) => (await import('./operator-actions.ts')).debug(context, services),
}
