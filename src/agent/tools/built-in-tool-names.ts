/**
 * The names of the tools in this folder, for code that needs them before the tools are loaded. A test compares them.
 */
export const builtInToolNames: ReadonlySet<string> = new Set([
  'clarify',
  'delegate_task',
  'memory',
  'patch',
  'process',
  'read_file',
  'search_files',
  'send_message',
  'session_search',
  'skill_manage',
  'skill_view',
  'skills_list',
  'terminal',
  'todo',
  'web_extract',
  'web_search',
  'write_file',
])
