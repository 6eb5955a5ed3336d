/** The contract of a provider, kept by each of the four. */
import { createAnthropic } from '../../../src/agent/providers/anthropic.ts'
import { createDemo } from '../../../src/agent/providers/demo.ts'
import { createOpenAiChat } from '../../../src/agent/providers/openai-chat.ts'
import { createOpenAiResponses } from '../../../src/agent/providers/openai-responses.ts'
import { providerOptions } from '../../../src/agent/providers/options.ts'
import { providerContract } from '../../kit/contracts/provider.ts'
import { CONTRACT_KEY, type ProviderLimits } from '../../kit/contracts/provider-run.ts'
import { startAnthropicServer } from '../../kit/servers/anthropic-server.ts'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'
import type { ModelServer } from '../../kit/servers/sse.ts'

const options = (server: ModelServer | null, limits?: ProviderLimits) =>
  providerOptions({ apiKey: CONTRACT_KEY, baseUrl: server?.baseUrl ?? '', ...limits })

providerContract('chat completions', {
  startServer: startOpenAiServer,
  build: (server, limits) => createOpenAiChat(options(server, limits)),
  reasoningMark: '"reasoning_content":"first look"',
})

providerContract('responses', {
  startServer: startOpenAiServer,
  build: (server, limits) => createOpenAiResponses(options(server, limits)),
  reasoningMark: '"encrypted_content":"sealed-reasoning"',
})

providerContract('messages', {
  startServer: startAnthropicServer,
  build: (server, limits) => createAnthropic(options(server, limits)),
  reasoningMark: '"signature":"signed-thinking"',
})

providerContract('demonstration', { startServer: async () => null, build: () => createDemo() })
