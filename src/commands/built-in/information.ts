/**
 * The built-in commands that show information: `/start`, `/help`, `/commands`, `/status`, `/version`, `/whoami`,
 * `/update` and `/debug`.
 */
import { formatDuration } from '../../lib/duration.ts'
import { formatCost } from '../../lib/format-cost.ts'
import type { Target } from '../../message/source.ts'
import { toMarkdownLabel } from '../../message/untrusted-text.ts'
import { defineCommand } from '../command.ts'
import type {
  Access,
  CommandList,
  GatewayStatus,
  InstallationReport,
  ListedCommand,
  ModelNames,
  StatusReport,
} from '../gateway.ts'

const pageSize = 20

export const startCommand = defineCommand({
  name: 'start',
  description: 'Show what I am',
  async run({ source, sessionKey }, models: ModelNames) {
    const { model } = await models.modelOf({ source, sessionKey })
    const name = source.userName === undefined ? '' : `, ${toMarkdownLabel(source.userName)}`
    const agent = model === '' ? 'an AI agent' : `an AI agent that uses the model ${model}`
    return `👋 Hello${name}! I am Hermes, ${agent}. Ask me a question or give me a task in plain words.\n\n\`/help\` lists my commands, \`/stop\` stops what I am doing, and \`/new\` starts a fresh conversation.`
  },
})

export const helpCommand = defineCommand({
  name: 'help',
  description: 'Show what I understand',
  async run(_context, list: CommandList) {
    return `Write to me in plain words, or use a command:\n\n${list.commands().map(formatCommand).join('\n')}`
  },
})

export const commandsCommand = defineCommand({
  name: 'commands',
  description: 'List all commands',
  argsHint: '[page]',
  async run({ args }, list: CommandList) {
    const all = [...list.commands(), ...(await list.skills())]
    const pages = Math.max(1, Math.ceil(all.length / pageSize))
    const page = Math.min(pages, Math.max(1, Number.parseInt(args, 10) || 1))
    const lines = all.slice((page - 1) * pageSize, page * pageSize).map(formatCommand)
    const more = page < pages ? `\n\n\`/commands ${page + 1}\` shows the next page.` : ''
    return `**Commands** (page ${page} of ${pages})\n\n${lines.join('\n')}${more}`
  },
})

function formatCommand({ name, aliases, argsHint, description }: ListedCommand): string {
  const also = aliases.length === 0 ? '' : ` (also ${aliases.map((alias) => `/${alias}`).join(', ')})`
  return `- \`/${name}${argsHint === '' ? '' : ` ${argsHint}`}\` — ${description}${also}`
}

export const statusCommand = defineCommand({
  name: 'status',
  description: 'Show this conversation and the gateway',
  async run({ sessionKey, source, authority }, report: StatusReport) {
    const session = await report.session(sessionKey)
    const question = await report.pendingQuestion(sessionKey)
    const yolo = session.sessionId !== null && (await report.isYolo(session.sessionId))
    const gateway = report.gateway()
    const { model, provider } = await report.modelOf({ sessionKey, source })
    const platforms = Object.entries(gateway.platforms).map(
      ([name, health]) => `${name} (${formatPlatformState(health)})`,
    )
    // Others in a group need not learn where the messages of the owner go, and what keys there are.
    const seesAll = authority.role === 'owner' && source.chatType === 'dm'
    const homes = seesAll ? await report.homeChannels() : []
    const keys = seesAll ? await report.modelKeys() : []
    const lines = [
      `**Session** \`${session.sessionId ?? 'not begun'}\`${session.title === '' ? '' : ` · ${session.title}`}`,
      `**State** ${session.running ? 'working' : 'idle'}${session.queued > 0 ? `, ${session.queued} waiting` : ''}`,
      ...(question === undefined ? [] : [`**Waits for your answer** ${firstLine(question)}`]),
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
})

function formatHome({ target, name }: { readonly target: Target; readonly name?: string | undefined }): string {
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

export const versionCommand = defineCommand({
  name: 'version',
  aliases: ['v'],
  description: 'Show the version',
  async run(_context, version: string) {
    return `hermes-gateway ${version}`
  },
})

export const whoamiCommand = defineCommand({
  name: 'whoami',
  description: 'Show who I think you are',
  async run({ source, authority, sessionKey }, access: Access) {
    const { role, tools, commands } = access.permissions(authority, source)
    const lines = [
      `**You** ${toMarkdownLabel(source.userName ?? 'no name')} · id \`${source.userId ?? 'unknown'}\``,
      `**Where** ${source.platform}, ${source.chatType} \`${source.chatId}\`${source.threadId === undefined ? '' : `, thread \`${source.threadId}\``}`,
      `**Session key** \`${sessionKey}\``,
      `**Access** ${access.reason(source)}`,
      `**Role** ${role}`,
      `**Tools** ${formatToolList(tools)}`,
      `**Commands** ${commands.includes('*') ? 'all' : commands.map((name) => `\`/${name}\``).join(', ')}${role === 'owner' ? '' : ', except those for owners'}`,
    ]
    return lines.join('  \n')
  },
})

/** `all except terminal, file` */
function formatToolList(list: readonly string[]): string {
  const names = (entries: readonly string[]) => entries.map((name) => `\`${name}\``).join(', ')
  const denied = list.filter((entry) => entry.startsWith('-')).map((entry) => entry.slice(1))
  const allowed = list.filter((entry) => !entry.startsWith('-') && entry !== '*')
  if (!list.includes('*')) return allowed.length === 0 ? 'none' : names(allowed)
  return denied.length === 0 ? 'all' : `all except ${names(denied)}`
}

export const updateCommand = defineCommand({
  name: 'update',
  description: 'Show how to update me',
  minimumRole: 'owner',
  run: async (context, report: InstallationReport) => (await import('./operator-actions.ts')).update(context, report),
})

export const debugCommand = defineCommand({
  name: 'debug',
  description: 'Show what a report of a problem needs',
  minimumRole: 'owner',
  run: async (context, report: InstallationReport) => (await import('./operator-actions.ts')).debug(context, report),
})
