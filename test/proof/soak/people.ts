/**
 * The users of the soak. 200 of them are present at any time. Each one is in a conversation of 6 to 30 turns. After it,
 * three of four start the next one in the same chat with `/new`; the fourth leaves, and a user with a new chat replaces it.
 * One of ten uses the HTTP API instead of the chat. One of eight turns reads a file, and one of forty runs a command.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../random.ts'
import { toolWords } from './model.ts'

const presentUsers = 200

interface Person {
  chat: string
  readonly usesApi: boolean
  /** Turns until the end of the conversation. */
  left: number
  isWaiting: boolean
}

export interface PeopleDeps {
  readonly random: Random
  /** Each resolves with the answer and rejects when it does not come. */
  readonly askChat: (chat: string, text: string, expected: string) => Promise<void>
  readonly askApi: (session: string, text: string, expected: string) => Promise<void>
}

export interface People {
  readonly turns: number
  readonly conversations: number
  /** Messages without an answer. */
  readonly failures: readonly string[]
  /** Writes this number of messages with so many waiting for an answer at any time. */
  writeFast(turns: number, atOnce: number): Promise<void>
  /** Writes at this rate, in random order of the users, until the time (of `performance.now`). */
  writeAtRate(perSecond: number, until: number): Promise<void>
}

export function createPeople({ random, askChat, askApi }: PeopleDeps): People {
  let lastChat = 0
  let conversations = 0
  let turns = 0
  const failures: string[] = []
  const newChat = () => {
    lastChat += 1
    return `c${lastChat}`
  }
  const conversationLength = () => {
    conversations += 1
    return random.between(6, 30)
  }
  const people: Person[] = Array.from({ length: presentUsers }, (_, index) => ({
    chat: newChat(),
    usesApi: index % 10 === 0,
    left: conversationLength(),
    isWaiting: false,
  }))

  function question(number: number): string {
    const choice = random.next()
    const task = choice < 1 / 8 ? toolWords.read : choice < 1 / 8 + 1 / 40 ? toolWords.run : 'explain this'
    return `#${number}: please ${task}. ${'Some more words of the question. '.repeat(random.between(0, 12))}`
  }

  async function startConversation(person: Person): Promise<void> {
    person.left = conversationLength()
    if (person.usesApi || random.next() < 0.25) person.chat = newChat()
    else await askChat(person.chat, '/new', '')
  }

  async function runTurn(person: Person): Promise<void> {
    person.isWaiting = true
    try {
      if (person.left === 0) await startConversation(person)
      person.left -= 1
      turns += 1
      const ask = person.usesApi ? askApi : askChat
      await ask(person.chat, question(turns), `#${turns}`)
    } catch (error) {
      failures.push(String(error))
    } finally {
      person.isWaiting = false
    }
  }

  function nextPerson(): Person | undefined {
    const idle = people.filter(({ isWaiting }) => !isWaiting)
    return idle[random.between(0, idle.length - 1)]
  }

  return {
    get turns() {
      return turns
    },
    get conversations() {
      return conversations
    },
    failures,
    async writeFast(count, atOnce) {
      let left = count
      const write = async () => {
        while (left > 0) {
          left -= 1
          const person = nextPerson()
          if (person !== undefined) await runTurn(person)
        }
      }
      await Promise.all(Array.from({ length: atOnce }, write))
    },
    async writeAtRate(perSecond, until) {
      const open = new Set<Promise<void>>()
      let due = performance.now()
      while (due < until) {
        await pause(Math.max(0, due - performance.now()))
        due += 1_000 / perSecond
        const person = nextPerson()
        if (person === undefined) continue
        const turn = runTurn(person).finally(() => open.delete(turn))
        open.add(turn)
      }
      await Promise.all(open)
    },
  }
}
