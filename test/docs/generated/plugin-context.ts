/**
 * Generates the reference of the plugin context from the contract.
 */
import { memberLine, typeIn, typeReference } from './types.ts'

const source = 'src/plugins/contract.ts'
const memorySource = 'src/plugins/memory-provider.ts'

export function pluginContext(): string {
  const { members } = typeIn(source, 'PluginContext')
  if (members.length < 10) throw new Error(`${source}: ${members.length} members of the context are too few`)
  return members.map(memberLine).join('\n')
}

export function pluginTypes(): string {
  const types = typeReference(source, [
    'PluginTool',
    'PluginToolContext',
    'PluginCommand',
    'PluginCommandContext',
    'DaemonOptions',
    'PeriodicTask',
    'PromptSectionContext',
    'PluginConfig',
    'PluginState',
    'PluginLlm',
    'LlmOptions',
    'LlmResult',
  ])
  const memoryTypes = typeReference(memorySource, [
    'MemoryProvider',
    'MemoryContext',
    'MemoryTurnContext',
    'MemorySyncContext',
    'MemorySessionChange',
    'MemoryWriteContext',
    'MemoryDelegationContext',
    'MemoryToolContext',
    'MemoryToolSchema',
    'MemoryConfigField',
  ])
  return `${types}\n\n${memoryTypes}`
}
