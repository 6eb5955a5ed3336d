/**
 * What the tools of this folder are called, for whoever must know it before they are loaded. A test compares it with them.
 */
export const builtInToolNames: ReadonlySet<string> = new Set([
  'delegate_task',
  'patch',
  'process',
  'read_file',
  'search_files',
  'terminal',
  'todo',
  'write_file',
])
