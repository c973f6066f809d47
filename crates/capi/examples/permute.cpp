// Converts (r, g, b) pixels to planes in place with a plan, then catches an error.
#include <iostream>
#include <turntile.hpp>
#include <vector>

int main() {
    const std::size_t rows = 120, cols = 80;
    std::vector<unsigned char> image(rows * cols * 3);
    for (std::size_t k = 0; k < image.size(); k++)
        image[k] = static_cast<unsigned char>(k % 3 == 0 ? 10 : k % 3 == 1 ? 20 : 30);

    const auto to_planes =
        turntile::plan::permuting<unsigned char>({rows, cols, 3}, {2, 0, 1}, turntile::options().threads(1));
    to_planes.execute(image);
    std::cout << to_planes.text() << "\n\n" << int(image[0]) << ' ' << int(image[rows * cols]) << ' '
              << int(image[2 * rows * cols]) << '\n';

    try {
        turntile::transpose(image, 7, 7);
    } catch (const turntile::error &error) {
        std::cout << turntile_status_name(error.status()) << ": " << error.what() << '\n';
        return image[0] == 10 && image[rows * cols] == 20 && image.back() == 30 ? 0 : 1;
    }
    return 1;
}
