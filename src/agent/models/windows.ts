/**
 * The windows of well-known models in tokens: data, for models that a person chooses. What a server or the configuration says
 * about a model takes precedence. Sources: the documentation of the vendors, and `agent/model_metadata.py` of Hermes.
 */

/** By a part of the name; the longest part that fits counts. */
const windows: Readonly<Record<string, number>> = {
  claude: 200_000,
  'claude-opus-4-6': 1_000_000,
  'claude-opus-4.6': 1_000_000,
  'claude-opus-4-7': 1_000_000,
  'claude-opus-4.7': 1_000_000,
  'claude-opus-4-8': 1_000_000,
  'claude-opus-4.8': 1_000_000,
  'claude-opus-5': 1_000_000,
  'claude-sonnet-4-6': 1_000_000,
  'claude-sonnet-4.6': 1_000_000,
  'claude-sonnet-5': 1_000_000,
  'gpt-4': 128_000,
  'gpt-4.1': 1_047_576,
  'gpt-5': 400_000,
  'gpt-5.1-chat': 128_000,
  'gpt-5.4': 1_050_000,
  'gpt-5.4-mini': 400_000,
  'gpt-5.4-nano': 400_000,
  'gpt-5.5': 1_050_000,
  'gpt-5.6': 1_050_000,
  'gpt-oss': 131_072,
  gemini: 1_048_576,
  gemma: 8_192,
  'gemma-3': 131_072,
  'gemma-4': 256_000,
  deepseek: 128_000,
  'deepseek-chat': 1_000_000,
  'deepseek-reasoner': 1_000_000,
  'deepseek-v4': 1_000_000,
  llama: 131_072,
  mistral: 131_072,
  qwen: 131_072,
  'qwen3-coder': 262_144,
  'qwen3-coder-plus': 1_000_000,
  'qwen3-max': 262_144,
  'qwen3.6-plus': 1_048_576,
  'qwen3.7-plus': 1_048_576,
  minimax: 204_800,
  'minimax-m3': 1_000_000,
  glm: 202_752,
  'glm-5.2': 1_048_576,
  'glm-5.3': 1_048_576,
  grok: 131_072,
  'grok-4': 256_000,
  'grok-4-fast': 2_000_000,
  'grok-code-fast': 256_000,
  kimi: 262_144,
}

/** Undefined for an unknown model. */
export function knownWindow(model: string): number | undefined {
  const name = model.toLowerCase()
  const [longest] = Object.keys(windows)
    .filter((part) => name.includes(part))
    .sort((a, b) => b.length - a.length)
  return longest === undefined ? undefined : windows[longest]
}
