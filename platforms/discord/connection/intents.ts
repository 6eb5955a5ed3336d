/**
 * What the bot asks Discord to hear. Only the last one has to be switched on in the Developer Portal.
 */
const guilds = 1 << 0
const guildMessages = 1 << 9
const guildMessageReactions = 1 << 10
const directMessages = 1 << 12
const directMessageReactions = 1 << 13
const messageContent = 1 << 15

export const intents =
  guilds | guildMessages | guildMessageReactions | directMessages | directMessageReactions | messageContent
