/**
 * Local memory: the agent stores facts about a person with tools, and the facts that match a message are recalled before each
 * turn. A person has the same facts in all direct messages of a platform, and no other person has them.
 */
import { join } from 'node:path'
import { asNumber, asString, type Fields, type MemoryContext, type MemoryProvider, type PluginContext } from '#sdk'
import { createFactStore, type Fact, type FactStore } from './fact-store.ts'

export function register(ctx: PluginContext): void {
  ctx.registerMemoryProvider(createLocalMemory(ctx))
}

const maxSearchHits = 20

const toolSchemas = [
  {
    name: 'facts_search',
    description: 'Search what you have stored about this person.',
    mode: 'pure',
    parameters: {
      type: 'object',
      properties: { query: { type: 'string' }, limit: { type: 'integer' } },
      required: ['query'],
    },
  },
  {
    name: 'facts_store',
    description: 'Store one lasting fact about this person, in a sentence.',
    parameters: { type: 'object', properties: { fact: { type: 'string' } }, required: ['fact'] },
  },
  {
    name: 'facts_delete',
    description: 'Delete a fact by the id that facts_search shows.',
    parameters: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] },
  },
] as const

function createLocalMemory({ home, config }: PluginContext): MemoryProvider {
  let opened: FactStore | undefined
  const store = () => {
    opened ??= createFactStore(join(home, 'memories', 'facts.db'), () => asNumber(config.get('max_facts')))
    return opened
  }

  return {
    name: 'local',
    separatesChats: true,
    systemPromptBlock: () =>
      'You have a long-term memory of this person. Facts that match a message are recalled. Store lasting facts (preferences, people, decisions) with facts_store when you learn them.',
    prefetch(query, context) {
      const limit = asNumber(config.get('recall_limit'))
      const facts = limit < 1 ? [] : store().search(scopeOf(context), query, limit)
      return facts.map(({ text }) => `- ${text}`).join('\n')
    },
    toolSchemas: () => toolSchemas,
    handleToolCall: (name, args, context) => runTool(store(), name, args, scopeOf(context)),
    // What is removed from the small built-in memory stays here, unless it was replaced.
    onMemoryWrite(action, _target, content, context) {
      if (action === 'add' || action === 'replace') store().add(scopeOf(context), content)
    },
    shutdown() {
      opened?.close()
      opened = undefined
    },
  }
}

/** A conversation that others read, and one without a user, has facts of its own. */
function scopeOf({ platform, chatType, userId, sessionKey }: MemoryContext): string {
  return userId === '' || chatType !== 'dm' ? sessionKey : `${platform}:${userId}`
}

function runTool(store: FactStore, name: string, args: Fields, scope: string): Fields {
  switch (name) {
    case 'facts_search': {
      const limit = Math.min(Math.max(asNumber(args['limit']) || 10, 1), maxSearchHits)
      return { facts: store.search(scope, asString(args['query']), limit).map(toShownFact) }
    }
    case 'facts_store':
      return store.add(scope, asString(args['fact']))
    case 'facts_delete':
      return { deleted: store.remove(scope, asNumber(args['id'])) }
    default:
      throw new Error(`there is no tool ${name}`)
  }
}

function toShownFact({ id, text, storedAt }: Fact): Fields {
  return { id, text, stored: new Date(storedAt).toISOString().slice(0, 10) }
}
