/**
 * Mem0 by its REST API: each turn is sent to Mem0, which extracts facts; the memories that match a message are
 * recalled before the turn. It is an example of a provider for a remote service as well.
 */
import { asNumber, asString, type Fields, type MemoryContext, type MemoryProvider, type PluginContext } from '#sdk'
import { createMem0Client, type Mem0Client } from './client.ts'
import { readMem0Settings, saveMem0Settings } from './settings.ts'

export function register(ctx: PluginContext): void {
  ctx.registerMemoryProvider(createMem0Memory(ctx))
}

const maxSearchHits = 50
/** Extraction takes a model of Mem0 some seconds. */
const storeTimeoutFactor = 6

const toolSchemas = [
  {
    name: 'mem0_search',
    description: 'Search memories of this person by meaning.',
    mode: 'pure',
    parameters: {
      type: 'object',
      properties: { query: { type: 'string' }, top_k: { type: 'integer' } },
      required: ['query'],
    },
  },
  {
    name: 'mem0_add',
    description: 'Store one lasting fact about this person as it is.',
    parameters: { type: 'object', properties: { content: { type: 'string' } }, required: ['content'] },
  },
  {
    name: 'mem0_delete',
    description: 'Delete a memory by the id that mem0_search shows.',
    parameters: { type: 'object', properties: { memory_id: { type: 'string' } }, required: ['memory_id'] },
  },
] as const

function createMem0Memory(ctx: PluginContext): MemoryProvider {
  const settings = () => readMem0Settings(ctx)
  const client = () => createMem0Client(settings(), timeoutMs(ctx))

  /** An id that the operator chose is that of everybody; otherwise each person, and each chat of several, has its own. */
  function ownerOf({ platform, chatType, userId, sessionKey }: MemoryContext) {
    const { userId: chosen, agentId } = settings()
    const isOwn = userId !== '' && chatType === 'dm'
    return { userId: chosen || (isOwn ? `${platform}:${userId}` : sessionKey), agentId }
  }

  return {
    name: 'mem0',
    get separatesChats() {
      return settings().userId === ''
    },
    isAvailable: () => settings().apiKey !== '' || settings().host !== '',
    unavailableReason: () => 'MEM0_API_KEY is not set (or MEM0_HOST, for a server of your own)',
    systemPromptBlock: () =>
      'You have a long-term memory of this person (Mem0). Memories that match a message are recalled; search with mem0_search for more.',
    async prefetch(query, context) {
      const memories = await client().search(query, ownerOf(context), asNumber(ctx.config.get('recall_limit')))
      return memories.map(({ memory }) => `- ${memory}`).join('\n')
    },
    async syncTurn(user, assistant, context) {
      const messages = [
        { role: 'user', content: user },
        { role: 'assistant', content: assistant },
      ]
      await client().add(messages, ownerOf(context), { infer: true, timeoutMs: timeoutMs(ctx) * storeTimeoutFactor })
    },
    async onMemoryWrite(action, _target, content, context) {
      if (action === 'remove') return
      await client().add([{ role: 'user', content }], ownerOf(context), { infer: false })
    },
    toolSchemas: () => toolSchemas,
    handleToolCall: (name, args, context) => runTool(client(), name, args, ownerOf(context)),
    getConfigSchema: () => [
      {
        key: 'api_key',
        description: 'API key of Mem0',
        secret: true,
        required: settings().host === '',
        env_var: 'MEM0_API_KEY',
        url: 'https://app.mem0.ai',
      },
      { key: 'host', description: 'Address of your own Mem0 server; empty for the cloud', env_var: 'MEM0_HOST' },
      { key: 'user_id', description: 'One user id for everybody; empty: each person has memories of their own' },
      { key: 'agent_id', description: 'Name of the agent in Mem0', default: 'hermes' },
    ],
    saveConfig: (values, home) => saveMem0Settings(home, values),
  }
}

function timeoutMs({ config }: PluginContext): number {
  return Math.max(asNumber(config.get('timeout_seconds')), 0.1) * 1_000
}

async function runTool(
  client: Mem0Client,
  name: string,
  args: Fields,
  owner: Parameters<Mem0Client['search']>[1],
): Promise<Fields> {
  switch (name) {
    case 'mem0_search': {
      const limit = Math.min(Math.max(asNumber(args['top_k']) || 10, 1), maxSearchHits)
      return { memories: await client.search(asString(args['query']), owner, limit) }
    }
    case 'mem0_add':
      await client.add([{ role: 'user', content: asString(args['content']) }], owner, { infer: false })
      return { stored: true }
    case 'mem0_delete':
      await client.remove(asString(args['memory_id']), owner)
      return { deleted: true }
    default:
      throw new Error(`there is no tool ${name}`)
  }
}
