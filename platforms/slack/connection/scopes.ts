/**
 * The rights (scopes) of the app, and what does not work without each. The manifest in the README asks for all of them.
 * (`assistant:write`, for "is thinking...", comes with a feature that not every plan has.)
 */
export interface RequiredScope {
  readonly scope: string
  /** Without it the app cannot do its work at all. */
  readonly isRequired: boolean
  readonly effectWithout: string
}

export const requiredScopes: readonly RequiredScope[] = [
  { scope: 'chat:write', isRequired: true, effectWithout: 'nothing can be answered' },
  { scope: 'app_mentions:read', isRequired: true, effectWithout: 'mentions in channels are not heard' },
  { scope: 'im:history', isRequired: true, effectWithout: 'direct messages are not heard' },
  {
    scope: 'channels:history',
    isRequired: false,
    effectWithout: 'follow-ups in threads of public channels are not heard',
  },
  { scope: 'groups:history', isRequired: false, effectWithout: 'follow-ups in private channels are not heard' },
  { scope: 'mpim:history', isRequired: false, effectWithout: 'group direct messages are not heard' },
  { scope: 'im:write', isRequired: false, effectWithout: 'people cannot be written to first' },
  { scope: 'files:read', isRequired: false, effectWithout: 'files that people send cannot be read' },
  { scope: 'files:write', isRequired: false, effectWithout: 'files cannot be sent' },
  { scope: 'users:read', isRequired: false, effectWithout: 'people have ids instead of names' },
  { scope: 'reactions:read', isRequired: false, effectWithout: 'reactions are not heard' },
  { scope: 'commands', isRequired: false, effectWithout: 'there is no /hermes' },
]
