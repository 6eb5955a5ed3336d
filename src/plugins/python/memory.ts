/**
 * The proxy of a memory provider in Python. In its process each person in each conversation has an object of its own, because
 * providers of Hermes keep the session and the user in the object. Each call says for whom it is, so that a new process can
 * create the object again.
 */
import type { Registration } from '../../middleware/contract.ts'
import type { PluginContext } from '../contract.ts'
import type { MemoryContext, MemoryProvider } from '../memory-provider.ts'
import type { PythonProcess } from './contract.ts'
import type { SpecOf } from './registration-spec.ts'

/**
 * How long a call may go on after it was given up, ms. Then its process is killed, which ends other calls as well: a provider
 * that waits a minute for its network must not lose what it still has to store.
 */
const cancelGraceMs = 150_000
/** The caller has a shorter limit for most methods. */
const maxCallMs = 121_000

export function registerMemoryProvider(
  { key, name, methods }: SpecOf<'memory'>,
  context: PluginContext,
  process: PythonProcess,
): Registration {
  const has = (method: string) => methods.includes(method)

  async function call(
    method: string,
    about: MemoryContext | null,
    args: readonly unknown[],
    keywords: Readonly<Record<string, unknown>> = {},
    signal: AbortSignal = AbortSignal.timeout(maxCallMs),
  ): Promise<unknown> {
    const who = about === null ? null : toPythonContext(about)
    return await process.call(`${key} call`, { args: [method, who, args, keywords], signal, cancelGraceMs })
  }

  const textOf = async (returned: Promise<unknown>): Promise<string | null> => {
    const text = await returned
    return typeof text === 'string' ? text : null
  }
  const listOf = async (returned: Promise<unknown>) => {
    const list = await returned
    return Array.isArray(list) ? list : []
  }
  const session = ({ sessionId }: MemoryContext) => ({ session_id: sessionId })

  const provider: MemoryProvider = {
    name,
    separatesChats: has('separates_chats'),
    async isAvailable() {
      if ((await call('is_available', null, [])) === true) return true
      // A key may have come into .env since the process started.
      return process.renew() && (await call('is_available', null, [])) === true
    },
    initialize: (_sessionId, about) => call('initialize', about, []),
    ...(has('unavailable_reason') && {
      unavailableReason: async () => (await textOf(call('unavailable_reason', null, []))) ?? '',
    }),
    ...(has('shutdown') && {
      async shutdown() {
        // Objects end with their process.
        if (process.isRunning()) await call('shutdown', null, [])
      },
    }),
    ...(has('system_prompt_block') && {
      systemPromptBlock: (about) => textOf(call('system_prompt_block', about, [])),
    }),
    ...(has('prefetch') && { prefetch: (query, about) => textOf(call('prefetch', about, [query], session(about))) }),
    ...(has('queue_prefetch') && {
      queuePrefetch: (query, about) => call('queue_prefetch', about, [query], session(about)),
    }),
    ...(has('on_turn_start') && {
      onTurnStart: (turn, message, about) =>
        call('on_turn_start', about, [turn, message], { model: about.model, platform: about.platform }),
    }),
    ...(has('sync_turn') && {
      syncTurn: (user, assistant, about) =>
        call('sync_turn', about, [user, assistant], {
          ...session(about),
          // An older provider does not take them, and building them costs time.
          ...(has('sync_turn.messages') ? { messages: about.messages } : {}),
        }),
    }),
    ...(has('on_session_end') && { onSessionEnd: (messages, about) => call('on_session_end', about, [messages]) }),
    ...(has('on_session_switch') && {
      onSessionSwitch: (id, { parentSessionId, reset, rewound, reason }, about) =>
        call('on_session_switch', about, [id], {
          parent_session_id: parentSessionId,
          reset,
          reason,
          ...(rewound ? { rewound } : {}),
        }),
    }),
    ...(has('on_pre_compress') && {
      onPreCompress: (messages, about) => textOf(call('on_pre_compress', about, [messages])),
    }),
    ...(has('on_memory_write') && {
      onMemoryWrite: (action, target, content, about) =>
        call('on_memory_write', about, [action, target, content], { metadata: about.metadata }),
    }),
    ...(has('on_delegation') && {
      onDelegation: (task, result, about) =>
        call('on_delegation', about, [task, result], { child_session_id: about.childSessionId }),
    }),
    ...(has('get_tool_schemas') && { toolSchemas: () => listOf(call('get_tool_schemas', null, [])) }),
    ...(has('handle_tool_call') && {
      handleToolCall: (tool, args, about) =>
        call('handle_tool_call', about, [tool, args], session(about), about.signal),
    }),
    ...(has('get_config_schema') && { getConfigSchema: () => listOf(call('get_config_schema', null, [])) }),
    ...(has('save_config') && { saveConfig: (values, home) => call('save_config', null, [values, home]) }),
  }
  return context.registerMemoryProvider(provider)
}

/** The arguments of `initialize`, and which object is meant. */
function toPythonContext(about: MemoryContext): Readonly<Record<string, unknown>> {
  const { sessionId, sessionKey, platform, chatType, userId, hermesHome, agentContext, parentSessionId } = about
  return {
    instance: `${sessionKey}\n${userId}`,
    session_id: sessionId,
    keywords: {
      hermes_home: hermesHome,
      platform,
      chat_type: chatType,
      agent_context: agentContext,
      agent_workspace: 'hermes',
      gateway_session_key: sessionKey,
      ...(userId === '' ? {} : { user_id: userId }),
      ...(parentSessionId === '' ? {} : { parent_session_id: parentSessionId }),
    },
  }
}
