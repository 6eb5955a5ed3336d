/**
 * The channels of OpenClaw that are platforms of this gateway: data, not code.
 */
export interface ChannelFacts {
  /** Secrets: the key here, and its variable. */
  readonly secrets: Readonly<Record<string, readonly [key: string, variable: string]>>
  /** Texts that are taken as they are: the key here. */
  readonly texts: Readonly<Record<string, string>>
  readonly userId: RegExp
  readonly chatId: RegExp
  /**
   * Which section lists the chats. `groups`: only people of the allow lists may write there. `guilds`: sections with channels.
   * `channels`: everybody may write there, unless the chat names people.
   */
  readonly places: 'groups' | 'guilds' | 'channels'
  /** The key for chats in which no mention is needed. */
  readonly freeKey: string
}

export const channelFacts: Readonly<Record<string, ChannelFacts>> = {
  telegram: {
    secrets: {
      botToken: ['token', 'TELEGRAM_BOT_TOKEN'],
      webhookSecret: ['webhook_secret', 'TELEGRAM_WEBHOOK_SECRET'],
    },
    texts: { webhookUrl: 'webhook_url', apiRoot: 'api_root' },
    userId: /^-?\d+$/,
    chatId: /^-\d+$/,
    places: 'groups',
    freeKey: 'free_response_chats',
  },
  discord: {
    secrets: { token: ['token', 'DISCORD_BOT_TOKEN'] },
    texts: {},
    userId: /^\d{5,}$/,
    chatId: /^\d{5,}$/,
    places: 'guilds',
    freeKey: 'free_response_channels',
  },
  slack: {
    secrets: {
      botToken: ['bot_token', 'SLACK_BOT_TOKEN'],
      appToken: ['app_token', 'SLACK_APP_TOKEN'],
      signingSecret: ['signing_secret', 'SLACK_SIGNING_SECRET'],
    },
    texts: { mode: 'mode' },
    userId: /^[UWB][A-Z0-9]+$/,
    chatId: /^[CG][A-Z0-9]+$/,
    places: 'channels',
    freeKey: 'free_response_channels',
  },
}
