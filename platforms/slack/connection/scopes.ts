/**
 * The scopes of the app, and what does not work without each of them. The manifest in the README requests all of them.
 * `assistant:write` (for "is thinking...") is not among them, because not every plan offers it.
 */
export interface RequiredScope {
  readonly scope: string
  /** The app cannot work without it. */
  readonly isRequired: boolean
  readonly effectWithout: string
}

export const requiredScopes: readonly RequiredScope[] = [
  { scope: 'chat:write', isRequired: true, effectWithout: 'the bot cannot reply' },
  { scope: 'app_mentions:read', isRequired: true, effectWithout: 'mentions in channels are not received' },
  { scope: 'im:history', isRequired: true, effectWithout: 'direct messages are not received' },
  {
    scope: 'channels:history',
    isRequired: false,
    effectWithout: 'follow-ups in threads of public channels are not received',
  },
  { scope: 'groups:history', isRequired: false, effectWithout: 'follow-ups in private channels are not received' },
  { scope: 'mpim:history', isRequired: false, effectWithout: 'group direct messages are not received' },
  { scope: 'im:write', isRequired: false, effectWithout: 'the bot cannot start a direct chat' },
  { scope: 'files:read', isRequired: false, effectWithout: 'received files cannot be read' },
  { scope: 'files:write', isRequired: false, effectWithout: 'files cannot be sent' },
  { scope: 'users:read', isRequired: false, effectWithout: 'users appear with ids instead of names' },
  { scope: 'channels:read', isRequired: false, effectWithout: 'mentioned public channels appear with ids' },
  { scope: 'groups:read', isRequired: false, effectWithout: 'mentioned private channels appear with ids' },
  { scope: 'reactions:read', isRequired: false, effectWithout: 'reactions are not received' },
  { scope: 'commands', isRequired: false, effectWithout: 'the command /hermes does not work' },
]
