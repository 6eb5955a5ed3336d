/**
 * What `/model` does: shows, lists and changes the model of a conversation. Loaded with the command.
 */
import { toShortLine } from '../../lib/redact.ts'
import type { CommandContext } from '../command.ts'
import type { CurrentModel, ListedProvider, ModelChange, ModelRequest, ModelServices } from '../model.ts'

const usage =
  '`/model <model>` or `/model <provider>:<model>` chooses another one here, `/model list [provider]` shows them, `/model reset` takes the configured one.'

export async function model(context: CommandContext, models: ModelServices): Promise<string> {
  const words = context.args.trim()
  const [first = '', second] = words.split(/\s+/)
  if (words === '' || words === 'show' || words === 'status')
    return `${describe(models, await models.current(context))}\n\n${usage}`
  if (first === 'list') return await list(context, models, second)
  if (['reset', 'default', 'none'].includes(words.toLowerCase()))
    return describe(models, await models.reset(context), '\n\nFrom the next message on.')
  const request = parseRequest(first === 'set' ? words.slice(first.length) : words)
  if (typeof request === 'string') return request
  if (request.isGlobal && context.authority.role !== 'owner')
    return '`--global` changes the model of all conversations. It is for owners of this gateway.'
  return changeText(models, await models.choose(context, request), request)
}

/** The flags of Hermes; a text says why there is no request. */
function parseRequest(text: string): ModelRequest | string {
  const words = text.trim().split(/\s+/)
  const rest: string[] = []
  let provider: string | undefined
  let isGlobal = false
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? ''
    if (word === '--provider') {
      provider = words[++index]
      if (provider === undefined) return 'Write the name of the provider after `--provider`.'
    } else if (word === '--global') isGlobal = true
    else if (word.startsWith('--') && word !== '--session' && word !== '--refresh')
      return 'I know `--provider <name>` and `--global` here.'
    else if (!word.startsWith('--')) rest.push(word)
  }
  if (rest.length > 1) return `The name of a model has no spaces. ${usage}`
  if (rest.length === 0 && provider === undefined) return usage
  return { words: rest[0] ?? '', provider, isGlobal }
}

const origins: Readonly<Record<CurrentModel['origin'], string>> = {
  conversation: 'chosen here',
  chat: 'configured for this chat',
  platform: 'configured for this platform',
  configuration: 'configured',
}

function describe(models: ModelServices, now: CurrentModel, after = ''): string {
  const { unusable } = now
  const line = `**Model** ${nameOf(models, now)} · ${origins[now.origin]} · ${tokens(now.contextLength)} tokens`
  const left =
    unusable === undefined
      ? ''
      : `\n\n⚠️ ${nameOf(models, unusable)} cannot be used: ${short(models, unusable.reason, 300)}`
  return `${line}${left}${after}`
}

function changeText(models: ModelServices, change: ModelChange, { isGlobal }: ModelRequest): string {
  const code = (name: string) => `\`${short(models, name, 200)}\``
  switch (change.kind) {
    case 'changed': {
      const unchecked = change.isUnchecked
        ? '\n\nThe provider lists no models, so your next message shows whether it has this one.'
        : ''
      const where = isGlobal ? 'for all conversations without a model of their own' : 'in this conversation'
      return describe(models, change.now, `\n\nFrom the next message on, ${where}.${unchecked}`)
    }
    case 'unknown-provider': {
      const closest = change.closest === null ? '' : ` Did you mean ${code(change.closest)}?`
      return `There is no provider ${code(change.provider)}.${closest} \`/model list\` shows those that can be used.`
    }
    case 'unknown-model': {
      const like = change.models.length === 0 ? '' : ` It has ${change.models.map(code).join(', ')}.`
      const at = change.provider === '' ? 'No provider' : code(change.provider)
      return `${at} does not have this model.${like} \`/model list\` shows the models.`
    }
    case 'ambiguous':
      return `Which one? ${change.models.map(code).join(', ')}`
    case 'unusable':
      return `I cannot use ${code(change.provider)}: ${short(models, change.reason, 400)} The model stays as it is.`
  }
}

const maxOfEach = 12
const maxOfOne = 60

async function list(context: CommandContext, models: ModelServices, provider: string | undefined): Promise<string> {
  const providers = await models.list(context, provider)
  if (providers === undefined) return 'There is no such provider. `/model list` shows those that can be used.'
  if (providers.length === 0) return 'No provider has a key. An owner adds one with `hermes model` on the machine.'
  const limit = providers.length === 1 ? maxOfOne : maxOfEach
  return `${providers.map((provider) => listed(models, provider, limit)).join('\n\n')}\n\n${usage}`
}

function listed(services: ModelServices, { provider, label, models, failure }: ListedProvider, limit: number): string {
  const ids = models.slice(0, limit).map(({ id }) => `\`${short(services, id, 200)}\``)
  const more = models.length > limit ? [`… and ${models.length - limit} more: \`/model list ${provider}\``] : []
  const why = failure === undefined ? [] : [`⚠️ ${short(services, failure, 200)}`]
  const names = [...ids, ...more, ...why]
  return `**${label}** (\`${provider}\`)\n${names.length === 0 ? 'no models' : names.join('\n')}`
}

function nameOf(models: ModelServices, { model: name, provider }: { model: string; provider: string }): string {
  const shown = short(models, name, 200)
  return provider === '' ? shown : `${shown} (${short(models, provider, 64)})`
}

/** Servers choose these texts. */
function short({ withhold }: ModelServices, text: string, maxChars: number): string {
  return toShortLine(text, maxChars, withhold).replace(/[`*|[\]]/g, '')
}

function tokens(count: number): string {
  return count.toLocaleString('en')
}
