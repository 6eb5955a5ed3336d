/** `/whoami`: how the gateway sees the writer. */
import type { CommandDefinition } from '../command.ts'

export const whoamiCommand: CommandDefinition = {
  name: 'whoami',
  aliases: [],
  description: 'Show who I think you are',
  argsHint: '',
  queue: 'control',
  async run({ source, sessionKey }, services) {
    const lines = [
      `**You** ${source.userName ?? 'no name'} · id \`${source.userId ?? 'unknown'}\``,
      `**Where** ${source.platform}, ${source.chatType} \`${source.chatId}\`${source.threadId === undefined ? '' : `, thread \`${source.threadId}\``}`,
      `**Session key** \`${sessionKey}\``,
      `**Access** ${services.accessReason(source)}`,
    ]
    return lines.join('  \n')
  },
}
