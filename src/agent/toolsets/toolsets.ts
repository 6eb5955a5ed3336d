/**
 * The named groups of tools (contract §4.12, S12). The names are those of Hermes; a tool that does not exist here is absent.
 */

export interface Toolset {
  readonly description: string
  readonly tools: readonly string[]
  /** Names of other toolsets. */
  readonly includes: readonly string[]
}

const webTools = ['web_search', 'web_extract']
const browserTools = [
  'browser_navigate',
  'browser_snapshot',
  'browser_click',
  'browser_type',
  'browser_scroll',
  'browser_back',
  'browser_press',
  'browser_get_images',
  'browser_vision',
  'browser_console',
  'browser_cdp',
]
const homeAssistantTools = ['ha_list_entities', 'ha_get_state', 'ha_list_services', 'ha_call_service']
const codingTools = [
  ...webTools,
  'terminal',
  'process',
  'read_file',
  'write_file',
  'patch',
  'search_files',
  'vision_analyze',
  'skills_list',
  'skill_view',
  'skill_manage',
  ...browserTools,
  'todo',
  'memory',
  'session_search',
  'clarify',
  'execute_code',
  'delegate_task',
]

/** What a person has on each platform unless the configuration says otherwise. */
const coreTools = [
  ...codingTools,
  'image_generate',
  'text_to_speech',
  'cronjob',
  'send_message',
  ...homeAssistantTools,
  'mixture_of_agents',
]

function toolset(description: string, tools: readonly string[], includes: readonly string[] = []): Toolset {
  return { description, tools, includes }
}

export const toolsets: Readonly<Record<string, Toolset>> = {
  web: toolset('search the web and read pages', webTools),
  search: toolset('search the web, without reading pages', ['web_search']),
  vision: toolset('describe images', ['vision_analyze']),
  image_gen: toolset('create images', ['image_generate']),
  terminal: toolset('run commands', ['terminal', 'process']),
  file: toolset('read, write and search files', ['read_file', 'write_file', 'patch', 'search_files']),
  skills: toolset('read and write skills', ['skills_list', 'skill_view', 'skill_manage']),
  browser: toolset('control a browser', browserTools),
  cronjob: toolset('schedule tasks', ['cronjob']),
  tts: toolset('turn text into speech', ['text_to_speech']),
  todo: toolset('keep a list of steps', ['todo']),
  memory: toolset('remember across conversations', ['memory']),
  session_search: toolset('search earlier conversations', ['session_search']),
  clarify: toolset('ask the user', ['clarify']),
  code_execution: toolset('run scripts that call tools', ['execute_code']),
  delegation: toolset('hand work to sub-agents', ['delegate_task']),
  messaging: toolset('send messages to other chats', ['send_message']),
  homeassistant: toolset('control a home', homeAssistantTools),
  moa: toolset('ask several models', ['mixture_of_agents']),

  debugging: toolset('find and fix problems', ['terminal', 'process'], ['web', 'file']),
  safe: toolset('nothing that reaches the machine', [], ['web', 'vision', 'image_gen']),
  coding: toolset('work on code', codingTools),

  'hermes-cli': toolset('everything, for the terminal', coreTools),
  'hermes-cron': toolset('everything, for scheduled turns', coreTools),
  'hermes-acp': toolset(
    'work on code, without questions',
    codingTools.filter((name) => name !== 'clarify'),
  ),
  'hermes-api-server': toolset(
    'everything that needs no user',
    coreTools.filter((name) => name !== 'clarify' && name !== 'text_to_speech'),
  ),
  // What a webhook delivers was written by strangers.
  'hermes-webhook': toolset('nothing that a stranger could misuse', [...webTools, 'vision_analyze', 'clarify']),
  'hermes-gateway': toolset('everything, for all platforms', coreTools),
}

/** The toolset of a platform, also of one that is not in the table. */
export function findToolset(name: string): Toolset | undefined {
  if (Object.hasOwn(toolsets, name)) return toolsets[name]
  return /^hermes-[a-z0-9-]+$/.test(name) ? toolset('everything, for this platform', coreTools) : undefined
}

/** Whether the toolset is that of a platform with everything: it has the tools of plugins, too. */
export function hasPluginTools(name: string): boolean {
  return name.startsWith('hermes-') && name !== 'hermes-webhook'
}

const toolsOfTable: ReadonlySet<string> = new Set(Object.values(toolsets).flatMap(({ tools }) => tools))

/** False for a tool of a plugin. */
export function isToolOfTable(name: string): boolean {
  return toolsOfTable.has(name)
}

/** The toolset to which a built-in tool belongs; '' for any other tool. */
export function toolsetOfTool(tool: string): string {
  return Object.entries(toolsets).find(([, { tools }]) => tools.includes(tool))?.[0] ?? ''
}
