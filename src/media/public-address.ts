/**
 * Checks whether an IP address is public. Machines at other addresses may trust requests from the gateway.
 */
import ipaddr from 'ipaddr.js'

/**
 * From where an address can be reached: the internet, a private network, or this machine. `none`: nothing that a server may name,
 * such as the metadata services of cloud providers, multicast and tunnels.
 */
export type AddressScope = 'public' | 'private' | 'loopback' | 'none'

/** IPv4 or IPv6 in any notation. Invalid addresses are not public. */
export function isPublicAddress(address: string): boolean {
  return addressScope(address) === 'public'
}

/** Returns the scope of an IPv4 or IPv6 address in any notation. Never throws. */
export function addressScope(address: string): AddressScope {
  if (!ipaddr.isValid(address)) return 'none'
  // Converts IPv4-mapped IPv6 addresses to IPv4.
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return scopeOfV4(parsed)
  const bytes = parsed.toByteArray()
  if (startsWith(bytes, nat64Prefix)) return scopeOfV4(ipaddr.fromByteArray(bytes.slice(-4)))
  if (metadataAddresses.has(parsed.toString())) return 'none'
  const range = parsed.range()
  if (range === 'loopback' || range === 'unspecified') return 'loopback'
  if (range === 'uniqueLocal') return 'private'
  // Only 2000::/3 is allocated for global unicast.
  return range === 'unicast' && ((bytes[0] ?? 0) & 0xe0) === 0x20 ? 'public' : 'none'
}

/** Whether a page may be read from the address. `allowsPrivate`: also from this machine and from private networks. */
export function isReadableAddress(address: string, allowsPrivate: boolean): boolean {
  const scope = addressScope(address)
  return scope === 'public' || (allowsPrivate && scope !== 'none')
}

type ParsedAddress = ReturnType<typeof ipaddr.parse>

function scopeOfV4(address: ParsedAddress): AddressScope {
  if (metadataAddresses.has(address.toString())) return 'none'
  switch (address.range()) {
    case 'unicast':
      return 'public'
    case 'private':
    case 'carrierGradeNat':
      return 'private'
    // 0.0.0.0/8 leads to this machine.
    case 'loopback':
    case 'unspecified':
      return 'loopback'
    default:
      return 'none'
  }
}

/** Services of cloud providers for their machines, at addresses that belong to public or private ranges. */
const metadataAddresses = new Set([
  ...['168.63.129.16', '100.100.100.200', '192.0.0.192'],
  // The metadata addresses of Amazon for a machine and for a pod in Kubernetes; Google; Scaleway.
  ...['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', 'fd00:42::42'],
])

/** 64:ff9b::/96, the prefix for IPv4 addresses in networks without IPv4. */
const nat64Prefix = [0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]

function startsWith(bytes: readonly number[], prefix: readonly number[]): boolean {
  return prefix.every((byte, index) => bytes[index] === byte)
}
