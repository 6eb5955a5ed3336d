/**
 * The rights (scopes) of the app, and what does not work without each. The manifest in the README asks for all of them.
 * (`assistant:write`, for "is thinking...", comes with a feature that not every plan has.)
 */
export interface Right {
  readonly scope: string
  /** Without it the app cannot do its work at all. */
  readonly needed: boolean
  readonly without: string
}

export const rights: readonly Right[] = [
  { scope: 'chat:write', needed: true, without: 'nothing can be answered' },
  { scope: 'app_mentions:read', needed: true, without: 'mentions in channels are not heard' },
  { scope: 'im:history', needed: true, without: 'direct messages are not heard' },
  { scope: 'channels:history', needed: false, without: 'follow-ups in threads of public channels are not heard' },
  { scope: 'groups:history', needed: false, without: 'follow-ups in private channels are not heard' },
  { scope: 'mpim:history', needed: false, without: 'group direct messages are not heard' },
  { scope: 'im:write', needed: false, without: 'people cannot be written to first' },
  { scope: 'files:read', needed: false, without: 'files that people send cannot be read' },
  { scope: 'files:write', needed: false, without: 'files cannot be sent' },
  { scope: 'users:read', needed: false, without: 'people have ids instead of names' },
  { scope: 'reactions:read', needed: false, without: 'reactions are not heard' },
  { scope: 'commands', needed: false, without: 'there is no /hermes' },
]
