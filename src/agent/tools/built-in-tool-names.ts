/**
 * The names of the tools in this folder and in `../media/tools.ts`, for code that needs them before the tools are loaded. A test
 * compares them.
 */
export const builtInToolNames: ReadonlySet<string> = new Set([
  'clarify',
  'delegate_task',
  'image_generate',
  'execute_code',
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
  'text_to_speech',
  'todo',
  'vision_analyze',
  'web_extract',
  'web_search',
  'write_file',
])
