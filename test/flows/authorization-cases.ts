/**
 * The cells of the authorization matrix: every platform with allow lists × place × person × action.
 */
export const chatPlatforms = ['telegram', 'discord', 'slack'] as const
export const places = ['direct message', 'open group', 'open thread', 'closed group'] as const
export const people = ['owner', 'administrator of groups', 'member', 'guest', 'bot', 'stranger'] as const
export const actions = [
  'write',
  'todo',
  'read_file',
  'write_file',
  'terminal',
  'delegate_task',
  '/help',
  '/status',
  '/pause',
] as const
